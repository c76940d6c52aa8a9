"""Loading the model takes much of the recording.

## What it finds
Recordings of one call that hold the loading of the model: many copies to the device before it computes anything.

## Why it matters
A model is loaded once, and its copies have nothing in common with those of a step: that they use pageable memory, or
that nothing overlaps them, is no matter for the loop. What was to be measured is a small part of such a recording.

## How it decides
Before the first matrix multiplication, convolution or attention, at least `min_copies` copies bring `min_bytes` to the
device, more than all later ones do, and the device computes for less than `max_computing` of the time from the first to
the last of them (`weight_loading.loaded`). That time must come to `min_share` of the recording. It has no price, since
it is no part of a step; without steps it stands where it would if all of it could be saved. Findings on those copies
are symptoms of it.

## What to try
Record the second call. Where loading itself is what takes too long: keep the file on a local disk, map it, and leave
the weights uninitialised until they are there.

## Known limits
What is copied can't be seen: a table of embeddings, or a data set that is kept on the device, looks the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.rules.finding import Action
from stepscope.rules.host.unused_device import FETCHED, RECORD_LATER
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.copies.weight_loading import loaded
from stepscope.signals.shared.job import stepless
from stepscope.signals.shared.program import program

# How each profiler is told to start later; `RECORD_LATER` for all others.
_LATER: Final = {
    "nsight": Action(
        "If it happens once and the loop is what you ask about: let the recording start after it",
        before="nsys profile ./program",
        after="nsys profile --capture-range=cudaProfilerApi python program.py\n"
        "# and in it, behind the loading: torch.cuda.profiler.start()",
        page="recording",
    ),
}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of such copies with the recording."""
    found, told = s(loaded), s(program)
    share = found.taken_ns / found.recorded_ns
    if found.count < limits["min_copies"] or found.bytes < limits["min_bytes"] or found.bytes < found.later_bytes:
        return
    if share < limits["min_share"] or found.computing_ns > limits["max_computing"] * found.taken_ns:
        return
    # Programs of other kinds copy their input so.
    if told.language != "python" and not told.pytorch:
        return
    place = found.taken_ns if s.maybe(stepless) else None
    yield Draft(
        title="Loading the model takes much of the recording",
        summary=said(
            "For {taken}, {share} of the {recorded} recorded, {count:,} copies bring {size} to the device before it "
            "computes with them: as when a model is loaded, which happens once.",
            taken=duration(found.taken_ns), share=percent(share), recorded=duration(found.recorded_ns),
            count=found.count, size=quantity(found.bytes, "bytes"),
        ),
        actions=(_LATER.get(told.recorder, RECORD_LATER), *FETCHED),
        taken_ns=place,
        placed_as_ns=place,
        waiting=place is not None,
        # Without steps it is part of the time in use, which it explains.
        recorded_share=None if place else share,
        confidence=0.75,
        events=found.events,
        rows=({"table": "copies", "where": {"direction": "HtoD"}},),
        numbers={"bytes": found.bytes, "share": round(share, 4), **limits},
    )  # fmt: skip


RULE = Rule(
    "CPY010",
    "model-loading",
    thresholds=(
        Threshold("min_copies", 20, "count", "A model has a tensor per layer and more; inputs are a few."),
        Threshold("min_bytes", 2**27, "bytes", "Less than 128 MiB is copied in some ten milliseconds."),
        Threshold("max_computing", 0.25, "share", "Weights may be cast or quantised on the way; a loop computes more."),
        Threshold("min_share", 0.2, "share", "Less stands beside what was to be recorded."),
    ),
    check=check,
    whole=True,
)
