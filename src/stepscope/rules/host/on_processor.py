"""The model runs on the processor, beside a device that does nothing or without one.

## What it finds
Recordings that name a device, and whose operators run on the host's processor. Of a program that no device is seen of:
the operators that take its time.

## Why it matters
A model or an input that was left on the host, or a build of the framework without the device's platform, computes there
without any message, many times slower. It is the first thing to know of such a recording. A program without a device is
as fast as the processor computes its operators: which of them take the time says what to do.

## How it decides
There is no device activity and no launch of any; a device is named; and the operators are those of libraries that only
run on a processor (oneDNN, XNNPACK, ...) while no memory of a device is allocated, or operators that multiply matrices
take most of the time where a device would only have been given them (`ran_on.ran_on`). Operators of a device's
libraries, device memory, and reads that wait speak against it. They must take `min_share` of the recording. What a
device would save is unknown, so there is no price.

Without a device, and without a sign of one, operators must run for `min_operators` of the recording, or of its typical
steps, which last `min_ns` or more; they are ranked by the time that they take without those that they call, on all
threads. Where operators run for less, gaps of less than a millisecond between them take longer than they do, and both
come to `min_calling`, Python takes the time to call them. What runs while code is compiled does not count. Where
`min_short` of their time is in calls of less than 20 µs, calling them is what takes the time, and larger calls are
advised instead of more cores. Where half of it is in operators on double precision, or in copies, that is advised on
first. Where ranks exchange data through the host, operators of c10d and nodes of the autograd engine do not count,
since they hold waits for other ranks.

## What to try
Move the model and its inputs to the device. Where the processor is meant: use all of its cores, compile, and compute in
bfloat16.

## Known limits
A profiler that never sees the device, as on Apple's, leaves host operators alone; those are recognised by operators
that only such devices have. Others that leave no trace on the host look like a processor that computes.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent, plural
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.shared.processor_remedies import CONVERTED, DEVICES, LARGER, SHARED, SINGLE, STACKS, THREADS, moved
from stepscope.signals import Signals
from stepscope.signals.host.own_operators import SHORT_NS, OwnOperators, own_operators
from stepscope.signals.shared.job import platform, span_ns
from stepscope.signals.shared.program import program
from stepscope.signals.shared.ran_on import ran_on

#: Of the operators' own time: what is said of that is said of most of it.
_MOST = 0.5
#: With so many threads in operators at a time, on average, they share the cores.
_THREADS = 1.5


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Ask where the operators ran, and which of them take the time where there is no device."""
    alone = s.maybe(own_operators)
    if alone is not None:
        yield from _alone(s, alone, limits)
        return
    found = s(ran_on)
    if found.where != "cpu" or not found.listed or found.took_ns < limits["min_share"] * s(span_ns):
        return
    how = (
        said("which only runs on a processor")
        if found.sure
        else said(
            "which the host of a device would only have launched: that it runs on the processor is inferred from this "
            "time, and the second line would show it"
        )
    )
    yield Draft(
        title="The model runs on the CPU",
        summary=said(
            "Its operators take {of} on the host and launch nothing on a device, though the recording "
            "names one ({listed}): {took} ({share}) are {mark} and its like, {how}.",
            of=duration(found.of_ns), listed=found.listed, took=duration(found.took_ns),
            share=percent(found.took_ns / found.of_ns), mark=found.mark, how=how,
        ),
        actions=(moved(s.maybe(platform) or ""), THREADS),
        taken_ns=found.took_ns,
        placed_as_ns=found.took_ns,
        confidence=0.9 if found.sure else 0.6,
        rows=({"table": "operators", "where": {"name": found.mark}},),
        numbers={"took_ns": found.took_ns, **limits},
    )  # fmt: skip


def _lines(s: Signals) -> bool:
    """Whether the recording tells the lines of the program that call operators, and on what shapes."""
    told = s.maybe(program)
    return told is not None and {"with_stack", "record_shapes"} <= told.recorded


def _alone(s: Signals, found: OwnOperators, limits: Limits) -> Iterator[Draft]:
    share = found.running_ns / found.recorded_ns
    if found.recorded_ns < limits["min_ns"] or not found.foremost:
        return
    if share < limits["min_operators"]:
        calling = found.running_ns + found.between_ns
        if found.between_ns >= found.running_ns and calling >= limits["min_calling"] * found.recorded_ns:
            yield _calling(s, found, share, limits)
        return
    told = listing(
        said("{name} {part}", name=name, part=percent(ns / max(found.own_ns, 1), 0)) for name, ns in found.foremost
    )
    doubt = (
        ""
        if found.sure
        else said(" Whether the processor computes them, or waits for a device that is not recorded, is not told.")
    )
    own = max(found.own_ns, 1)
    small = found.short_ns >= limits["min_short"] * found.own_ns
    double, copied = (part / own >= _MOST for part in (found.double_ns, found.copied_ns))
    length = duration(found.recorded_ns)
    of = said("{length} of the steps", length=length) if found.steps else said("{length} recorded", length=length)
    yield Draft(
        title="Operators on the host take most of the time",
        summary=said(
            "Operators run for {share} of the {of}, and no device is seen. Of their own time most goes "
            "to {told}, in {number}.{small}{double}{doubt}",
            share=percent(share), of=of, told=told, number=plural(found.number, "call"), doubt=doubt,
            small=said(
                " {part} of it is in calls of less than {short}: they take about as long whatever they compute.",
                part=percent(found.short_ns / own, 0), short=duration(SHORT_NS),
            ) if small else "",
            double=said(
                " {part} of it is in operators on numbers of double precision.", part=percent(found.double_ns / own, 0)
            ) if double else "",
        ),
        actions=(
            *((SINGLE,) if double else ()),
            *((CONVERTED,) if copied else ()),
            LARGER if small else SHARED if found.threads >= _THREADS else THREADS,
            *DEVICES,
            *(() if _lines(s) else (STACKS,)),
        ),
        taken_ns=found.running_ns // max(found.steps, 1),
        confidence=0.7 if found.sure else 0.5,
        events=found.events[:20],
        rows=({"table": "operators", "where": {"name": found.foremost[0][0]}},),
        numbers={"share": round(share, 4), **limits},
        key="alone",
    )  # fmt: skip


def _calling(s: Signals, found: OwnOperators, share: float, limits: Limits) -> Draft:
    """Where Python needs longer to get from one operator to the next than these take."""
    number = max(found.steps, 1)
    length = duration(found.recorded_ns // number)
    return Draft(
        title="Calling operators takes longer than they do",
        summary=said(
            "Operators run for {share} of {of}, and for {between} of it the program is between two of them, in gaps of "
            "less than a millisecond: {calls:,} calls follow each other.{traced}",
            share=percent(share), between=percent(found.between_ns / found.recorded_ns), calls=found.calls // number,
            of=said("each step of {length}", length=length)
            if found.steps
            else said("the {length} recorded", length=length),
            traced=said(" Recording Python's functions makes the gaps longer than they are.") if found.traced else "",
        ),
        actions=(LARGER, *(() if _lines(s) else (STACKS,))),
        taken_ns=(found.running_ns + found.between_ns) // number,
        confidence=0.6 if found.traced else 0.7,
        rows=({"table": "operators", "where": {"name": found.foremost[0][0]}},),
        numbers={"share": round(share, 4), "between": round(found.between_ns / found.recorded_ns, 4), **limits},
        key="calling",
    )  # fmt: skip


RULE = Rule(
    "HST019",
    "on-processor",
    thresholds=(
        Threshold("min_share", 0.3, "share", "What takes less is a part of the program beside others."),
        Threshold("min_operators", 0.5, "share", "Where less is operators, what lies between them comes first."),
        Threshold("min_calling", 0.7, "share", "With more between them than HST015 wants, that is about it."),
        Threshold("min_short", 0.5, "share", "Where most time is in short calls, faster arithmetic gains little."),
        Threshold("min_ns", 5_000_000, "ns", "What is shorter is a call or two, mostly of their first use."),
    ),
    check=check,
    whole=True,
)
