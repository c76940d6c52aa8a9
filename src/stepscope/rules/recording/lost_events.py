"""Events of the recording are lost.

## What it finds
Recordings that are cut off, damaged, or whose buffers overflowed: events that happened are missing.

## Why it matters
Sums are too low, and whatever is computed from the order of events may be wrong: this limits the accuracy of the whole
report.

## How it decides
The health of the recording says so: text that ends in the middle, tables or rows that can't be read, events without a
time, a history as long as its limit, frees of memory whose allocation is not there. It is advised if it is among the
three things whose lack leaves most of the step unexplained.

## What to try
Record less at a time, with enough room to write it; wait until the export has ended; raise the limit of the history.

## Known limits
Events that a profiler dropped without a trace can't be seen from the recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals

_ACTIONS = {
    "any": Action(
        "Record fewer steps, and wait until the trace is written",
        before="prof = profile(schedule=schedule(wait=0, warmup=0, active=100))",
        after="prof = profile(schedule=schedule(wait=5, warmup=2, active=3, repeat=1))",
        page="recording",
    ),
    "memsnapshot": Action(
        "Let the history hold more entries",
        before="torch.cuda.memory._record_memory_history(max_entries=1000)",
        after="torch.cuda.memory._record_memory_history(max_entries=1_000_000)",
        page="recording",
    ),
    "nsight": Action(
        "Record a shorter time, of fewer kinds of events",
        before="nsys profile --trace=cuda,nvtx,osrt,cudnn,cublas ./program",
        after="nsys profile --trace=cuda,nvtx --capture-range=cudaProfilerApi ./program",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "lost")
    yield from advice(
        found,
        said("Events of the recording are lost"),
        said("Recorded events are missing: sums are too low. The health section says what is missing."),
        _ACTIONS,
    )


RULE = Rule("REC001", "lost-events", job_check=job_check, reads=READS)
