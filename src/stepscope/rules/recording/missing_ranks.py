"""Recordings of other ranks, which would distinguish waiting from transfer, are missing.

## What it finds
Exposed communication in a job of several ranks of which not all recordings are at hand.

## Why it matters
On one rank, a collective that waits for a late rank looks like a slow network. The remedies have nothing in common,
and the rank to look at may be one that was not recorded.

## How it decides
Exposed collectives whose transfer is not distinguished from waiting, or whose waiting has no known cause because ranks
are missing, by their share of the step. It is advised if it is among the three things whose lack leaves most of the
step unexplained.

## What to try
Record the same steps on all ranks, or at least on one rank per host and the suspects, and analyse the folder.

## Known limits
Very large jobs can't write all ranks' traces; a sample still shows spread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals

_ACTIONS = {
    "any": Action(
        "Record the same steps on all ranks, and analyse them together",
        before='if rank == 0:\n    prof.export_chrome_trace("trace.json")',
        after='prof.export_chrome_trace(f"traces/rank{rank}.json.gz")\n# then: stepscope analyze traces/',
        page="recording",
    ),
    "ascend": Action(
        "Record the same steps on all ranks, and analyse them together",
        before="if rank == 0: profile(...)",
        after='on_trace_ready=tensorboard_trace_handler("results/")   # on every rank\n'
        "# then: stepscope analyze results/",
        page="recording",
    ),
    "nsight": Action(
        "Record all ranks with a file each",
        before="nsys profile ./program   # on rank 0",
        after="nsys profile -o report.%q{RANK} torchrun ...\n# then: stepscope analyze report.*.sqlite",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "ranks")
    if found is not None:
        yield from advice(
            found,
            said("Recordings of other ranks are missing"),
            said(
                "{weight} of the step are exposed collectives in which waiting for other ranks can't be "
                "distinguished from transfer, or whose slowest rank is not at hand.",
                weight=percent(found.weight),
            ),
            _ACTIONS,
        )


RULE = Rule("REC006", "missing-ranks", job_check=job_check, reads=READS, symptom_of=("CLU005", "CLU006", "CLU007"))
