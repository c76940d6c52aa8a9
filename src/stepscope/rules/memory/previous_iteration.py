"""The previous iteration's memory is still held during the next one.

## What it finds
Tensors, or a whole graph, that the next iteration replaces only after it has made its own: at the peak both are in
use.

## Why it matters
The peak is higher by one generation of activations or results, and nothing uses the older one.

## How it decides
In the history of a memory snapshot, blocks that are in use at the peak are freed together, by one line, with
nothing allocated in between; at least `min_blocks` of them, with `min_share` of the peak. By then blocks of the same
sizes have been made after all of them: at least `min_alike` of their bytes. Memory that grows over several steps is
another finding, and so are single buffers that an iteration needs while it makes the next ones.

## What to try
Let go of the result before the next iteration: `del output`, or read what is wanted of it (`.item()`, `.detach()`).
Where no backward pass follows, run without gradients: then there is no graph.

## Known limits
What the next iteration really reads of the previous one can't be seen; a large state that is replaced by a new one of
the same sizes looks the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.model.places import short_place
from stepscope.rules.memory.remedies import DROP, NO_GRAD
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.snapshots.generations import Superseded, superseded
from stepscope.signals.snapshots.peak_makeup import trains


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what is freed together with what has replaced it."""
    found, trained = s(superseded), s(trains)
    if found is None or not _replaced(found, limits):
        return
    graph = found.forward >= limits["min_forward"]
    what = said("activations and graph live") if graph else said("memory lives")
    where = "" if found.freed_at == "unknown" else said(", at {short_place}", short_place=short_place(found.freed_at))
    older = said(" They are older than the recording.") if found.older else ""
    alone = graph and not trained
    yield Draft(
        title=said("The previous iteration's {what} until the next one is done", what=what),
        summary=said(
            "{bytes} of the {peak} at the peak ({share}), {count:,} blocks, are freed together only after "
            "the next iteration has allocated the same sizes{where}: without them the peak is "
            "{peak_2}.{older}",
            bytes=quantity(found.bytes, "bytes"), peak=quantity(found.peak, "bytes"),
            share=percent(found.bytes / found.peak), count=found.count, where=where,
            peak_2=quantity(found.peak - found.bytes, "bytes"), older=older,
        )
        + (said(" No backward pass is recorded: under no_grad neither generation would be kept.") if alone else ""),
        actions=(NO_GRAD, DROP) if alone else (DROP,),
        confidence=0.9,
        rows=({"table": "memory_peak_stacks", "where": {"by": "purpose"}},),
        numbers={"bytes": found.bytes, "blocks": found.count, "alike": found.alike, **limits},
    )  # fmt: skip


def _replaced(found: Superseded, limits: Limits) -> bool:
    return (
        found.count >= limits["min_blocks"]
        and found.bytes >= limits["min_share"] * found.peak
        and found.alike >= limits["min_alike"] * found.bytes
    )


RULE = Rule(
    "MEM012",
    "previous-iteration",
    thresholds=(
        Threshold("min_share", 0.1, "share", "A tenth of the peak is a larger batch or a longer sequence."),
        Threshold(
            "min_blocks", 20, "count", "A graph of some layers has dozens of blocks, a state that is replaced few."
        ),
        Threshold(
            "min_alike", 0.8, "share", "A last smaller batch, or a loss more, makes generations differ a little."
        ),
        Threshold("min_forward", 0.5, "share", "What was mostly made in forward passes is called a graph."),
    ),
    check=check,
)
