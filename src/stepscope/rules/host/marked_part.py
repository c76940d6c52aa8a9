"""One marked range of the program takes much of the host's time.

## What it finds
In a recording that holds ranges of the program and nothing else: the range that takes most time by itself.

## Why it matters
Such a recording holds nothing else: it only shows in which range the time goes, and so what to look into first.

## How it decides
The time of the ranges of the busiest thread (`marked_parts.marked_parts`), each without the ranges inside it, in
complete steps, or in the whole recording without steps. The largest must come to `min_share` of that. There is
no price: whether the host works in it or waits for a device is not recorded.

## What to try
Record the device and the calls of the operating system together with the ranges; then the part shows as work of the
host, as waiting, or as the device's own time.

## Known limits
Launches return before the work is done: a range that waits for the device holds the time of ranges before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.marked_parts import marked_parts
from stepscope.signals.recording.recording import profiler

#: Further parts that are named, and their least share.
_MORE, _LEAST = 3, 0.05

_RECORD: Final = {
    "nsight": Action(
        "Record the device, the calls of the system and samples with the ranges: then it shows as work or as waiting",
        before="nsys profile --trace=nvtx ./program",
        after="nsys profile --trace=cuda,nvtx,osrt --sample=process-tree ./program",
        page="recording",
    ),
    "any": Action(
        "Record the device together with the ranges: then it shows as work of the host or as waiting", page="recording"
    ),
}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the largest part with the time."""
    found = s(marked_parts)
    if not found.parts or found.parts[0][1] < limits["min_share"] * found.length_ns:
        return
    name, taken = found.parts[0]
    number = max(found.steps, 1)
    length = (
        said("each {length}", length=duration(found.length_ns // number)) if found.steps else duration(found.length_ns)
    )
    more = [(one, ns / found.length_ns) for one, ns in found.parts[1 : 1 + _MORE]]
    others = ", ".join(f"{one} {percent(share)}" for one, share in more if share >= _LEAST)
    yield Draft(
        title=said("Of the marked ranges {name} takes most of the time", name=name),
        summary=said(
            "{name} takes {taken} of {length} ({share}) by itself{others}. Only ranges are recorded: it "
            "may work on the host, or wait for work launched earlier.",
            name=name, taken=duration(taken // number), length=length, share=percent(taken / found.length_ns),
            others=said(", followed by {others}", others=others) if others else "",
        ),
        actions=(_RECORD.get(s.maybe(profiler) or "", _RECORD["any"]),),
        taken_ns=taken // number,
        confidence=0.6,
        rows=({"table": "annotations", "where": {"name": name}},),
        numbers={"share": round(taken / found.length_ns, 3), **limits},
    )  # fmt: skip


RULE = Rule(
    "HST015",
    "marked-part",
    thresholds=(Threshold("min_share", 0.3, "share", "What takes less is one of several parts."),),
    check=check,
)
