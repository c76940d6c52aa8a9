"""What each thing is worth that the command line does to its process for speed (`stepscope/cli/speed.py`).

    python -m bench.process_speed RECORDING [ROUNDS]

Prints the median of CPU time (user and system) that a report takes longer without it, in ms. The recording is read
into the cache first. A round has one run with all and one without each, so that other load on the machine falls on
all; no round starts that would end after `LONGEST_S`, and it is said how many there were.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from statistics import median
from time import monotonic
from typing import Final

from stepscope.cli.speed import SWITCH, TRICKS

_ROUNDS: Final = 5
#: Time for all rounds but the first, s.
LONGEST_S: Final = 180


def cpu_ms(recording: str, left_out: str) -> float:
    """CPU time of a report from the cache with some of `TRICKS` left out."""
    # Python keeps compiled modules, as an installation does.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", "from stepscope.cli import entry; entry()", "analyze", recording],
        env={**own, SWITCH: left_out}, stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main(recording: str, rounds: int) -> None:
    """Print a line per trick, and one for all together."""
    cpu_ms(recording, "")
    names = [*TRICKS, "all"]
    worth: dict[str, list[float]] = {name: [] for name in names}
    usual: list[float] = []
    started = monotonic()
    while len(usual) < rounds and (monotonic() - started) * (len(usual) + 1) <= LONGEST_S * max(1, len(usual)):
        usual.append(cpu_ms(recording, ""))
        for name in names:
            worth[name].append(cpu_ms(recording, name) - usual[-1])
    print(f"with all: {median(usual):.0f} ms, {len(usual)} rounds")
    for name in names:
        print(f"without {name:10} {median(worth[name]):+6.0f} ms  {TRICKS.get(name, '')}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else _ROUNDS)
