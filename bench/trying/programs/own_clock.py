"""A program's own clock, and whether the change is to be written in: `PROGRAM --changed --steps N`."""

import sys
import time

CHANGED = "--changed" in sys.argv
_STEPS = int(sys.argv[sys.argv.index("--steps") + 1]) if "--steps" in sys.argv else 0
_WARMUP = 10


def clocked(items):
    """These items; after so many of them, the mean time between two is printed in ns, and the program ends."""
    since = 0
    for number, item in enumerate(items):
        if number == _WARMUP:
            since = time.perf_counter_ns()
        if _STEPS and number == _WARMUP + _STEPS:
            # In one write: ranks share the pipe.
            sys.stdout.write(f"step_ns {(time.perf_counter_ns() - since) // _STEPS}\n")
            sys.stdout.flush()
            return
        yield item
