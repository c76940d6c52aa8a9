"""Shapes of operators are not recorded.

## What it finds
Recordings without shapes of inputs, in which matrix multiplications, attention or convolutions take much of the time.

## Why it matters
Shapes give the FLOPs and bytes of an operator, and so its efficiency, unaligned dimensions, and whether equal kernels
differ.

## How it decides
Time of such kernels as a share of the step. It is advised if it is among the three things whose lack leaves most of
the step unexplained.

## What to try
Record the shapes of inputs, for a few steps only.

## Known limits
Recording shapes makes dispatch slower; for questions of dispatch record without.
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
        "Record the shapes of inputs",
        before="profile(activities=...)",
        after="profile(activities=..., record_shapes=True)",
        page="recording",
    ),
    "nsight": Action(
        "Let PyTorch name its operators and their shapes in ranges",
        before="train(batch)",
        after="with torch.autograd.profiler.emit_nvtx(record_shapes=True):\n    train(batch)",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "shapes")
    if found is not None:
        yield from advice(
            found,
            said("Shapes are not recorded"),
            said(
                "{weight} of the step are matrix multiplications, attention or convolutions of unknown shapes "
                "and efficiency.",
                weight=percent(found.weight),
            ),
            _ACTIONS,
        )


RULE = Rule("REC007", "no-shapes", job_check=job_check, reads=READS)
