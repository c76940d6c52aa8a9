"""The memory snapshot has no history, or no call stacks.

## What it finds
Snapshots of the allocator that were taken without recording its history, or without stacks.

## Why it matters
A snapshot alone shows what is held at one moment. Who allocated it, what the peak was and what never came back is in
the history.

## How it decides
There are segments, but no recorded allocations, or none with a known place. It is advised if it is among the three
things whose lack leaves most of the step unexplained.

## What to try
Start the history first thing in the program.

## Known limits
The history costs host time per allocation and some hundred bytes per entry.
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
        "Record the history from the start of the program",
        before='torch.cuda.memory._dump_snapshot("snapshot.pickle")',
        after="torch.cuda.memory._record_memory_history(max_entries=1_000_000)   # first thing\n"
        "...\n"
        'torch.cuda.memory._dump_snapshot("snapshot.pickle")',
        page="recording",
    ),
}
_STACKS = {
    "any": Action(
        "Record the stacks with the history",
        before="torch.cuda.memory._record_memory_history(stacks=None)",
        after='torch.cuda.memory._record_memory_history(stacks="all", max_entries=1_000_000)',
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "history")
    yield from advice(
        found,
        said("The snapshot has no history of who allocated what"),
        said(
            "Only the moment of the snapshot is known: neither the peak, nor what came before, nor what never "
            "came back."
        ),
        _ACTIONS,
    )
    yield from advice(
        lacking(signals, "holders"),
        said("The history of the snapshot has no call stacks"),
        said("What is allocated and freed is known, and not by whom."),
        _STACKS,
    )


RULE = Rule("REC011", "no-history", job_check=job_check, reads=READS)
