"""One part of the program takes much of the host's time.

## What it finds
In a recording that holds ranges of the program and nothing else: the range that takes most time by itself. In one of
operators on the host, of a program that no device is seen of: the time in which none of them runs.

## Why it matters
Such a recording only shows in which part the time goes, and so what to look into first. What operators take is the
model's; a download, a checkpoint or an environment between them is not, and no faster model shortens it.

## How it decides
The time of the ranges of the busiest thread (`marked_parts.marked_parts`), each without the ranges inside it, in
complete steps, or in the whole recording without steps. The largest must come to `min_share` of that. There is no
price: whether the host works in it or waits for a device is not recorded. Between operators, stretches of a millisecond
and more count in which no thread is in one, waits for batches, compiling, the profiler's own functions and ranges named
as passes of the model taken off (`between_operators.between_operators`); they are named by the functions or ranges
around them, and must come to `min_share` as well, and to `min_ns`. Where gloo's collectives take half of them, or
functions of Python's that wait for another thread or process, or for a connection, that is said, and what shortens it.
Operators of c10d and nodes of the autograd engine are no operators of the model there, since they hold waits for other
ranks.

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
from stepscope.model.amounts import duration, percent, plural
from stepscope.rules.finding import Action
from stepscope.rules.host.host_work import AWAKE, LESS, MARK, SAVED, longest_of, where
from stepscope.rules.host.unused_device import FETCHED, RECORD_LATER
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.shared.awaited import AWAITED, EXCHANGE, PAIRS, WAITS
from stepscope.signals import Signals
from stepscope.signals.host.between_operators import BetweenOperators, between_operators
from stepscope.signals.host.marked_parts import marked_parts
from stepscope.signals.host.saving import saves
from stepscope.signals.recording.recording import profiler
from stepscope.signals.system.system import longest

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


_AHEAD: Final = Action(
    "Prepare the next input in worker processes while the model computes on this one", page="data-loading",
    before="for path in paths:\n    model(preprocess(path))",
    after="with ProcessPoolExecutor() as pool:\n    for inputs in pool.map(preprocess, paths):\n        model(inputs)",
)  # fmt: skip


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the largest part, or what is no operator, with the time."""
    yield from _range(s, limits) if s.maybe(between_operators) is None else _between(s, limits)


def _between(s: Signals, limits: Limits) -> Iterator[Draft]:
    found = s(between_operators)
    total, doing = found.doing.found.total, found.doing
    if total < limits["min_ns"] or total < limits["min_share"] * found.length_ns:
        return
    number = max(found.steps, 1)
    known = bool(doing.name or doing.parts)
    of = said("each step") if found.steps else said("the recording")
    if found.exchanges:
        actions: tuple[Action, ...] = PAIRS if found.in_pairs else EXCHANGE
    elif found.awaits:
        actions = (AWAITED[found.awaits],)
    elif not known:
        actions = (MARK["any"], *(() if found.steps else (RECORD_LATER,)))
    elif doing.sleeps:
        actions = (AWAKE,)
    elif saves(doing):
        actions = (SAVED,)
    elif doing.prepares and not doing.fetches:
        actions = (_AHEAD,)
    elif found.steps:
        actions = (LESS,)
    else:
        actions = (RECORD_LATER, *(FETCHED if doing.fetches else ()))
    yield Draft(
        title="No operator of the model runs for much of the time",
        summary=said(
            "For {taken} of {of} ({share}) no operator runs: {stretches} of up to {longest}{where}.{waits}",
            taken=duration(total // number), of=of, share=percent(total / found.length_ns),
            stretches=plural(len(doing.found), "stretch", "stretches"),
            longest=longest_of(doing), where=where(doing), waits=_waits(found),
        ),
        actions=actions, taken_ns=total // number, placed_as_ns=total // number, confidence=0.8 if known else 0.6,
        ranges=longest(doing.found), key="exchange" if found.exchanges else "between",
        numbers={"share": round(total / found.length_ns, 3), **limits},
    )  # fmt: skip


def _waits(found: BetweenOperators) -> str:
    if found.exchanges:
        return said(
            " In {share} of it ranks exchange data through the host, or wait there for one that comes later.",
            share=percent(found.exchange),
        )
    if found.awaits:
        return WAITS[found.awaits]
    return said(" It may wait there for a device: the recording names one.") if found.device else ""


def _range(s: Signals, limits: Limits) -> Iterator[Draft]:
    """The largest marked range."""
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
    thresholds=(
        Threshold("min_share", 0.3, "share", "What takes less is one of several parts."),
        Threshold("min_ns", 10e6, "ns", "Less is no more than the start of a small program."),
    ),
    check=check,
    # What stops or occupies the host by a name of its own.
    symptom_of=("HST005", "HST006", "HST007", "HST010", "HST011", "SYS001", "SYS002", "SYS003"),
)
