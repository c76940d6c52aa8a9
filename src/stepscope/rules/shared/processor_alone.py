"""What is said of operators in a recording of a program that no device is seen of."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent, plural
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits
from stepscope.rules.shared.processor_gaps import between, lines_told
from stepscope.rules.shared.processor_remedies import (
    ADDED,
    ATTENDED,
    COMPILED,
    CONVERTED,
    CORES,
    DEVICES,
    GROWN,
    LARGER,
    SHARED,
    SHARES,
    SINGLE,
    SPARSE,
    STACKS,
    THREADS,
)
from stepscope.rules.system.processor_contention import PROVE
from stepscope.signals import Signals
from stepscope.signals.alone.growing import growing
from stepscope.signals.alone.plain_attention import plain_attention
from stepscope.signals.alone.whole_tables import whole_table
from stepscope.signals.host.own_operators import SHORT_NS, OwnOperators

#: Of the operators' own time: what is said of that is said of most of it.
_MOST = 0.5
#: Of the same: what one remedy is for that takes so much of it.
_MUCH = 0.3
#: With so many threads in operators at a time, on average, they share the cores.
_THREADS = 1.5


def without_device(s: Signals, found: OwnOperators, limits: Limits) -> Iterator[Draft]:
    """Which operators take the time of a program that no device is seen of, or that calling them does."""
    share = found.running_ns / found.recorded_ns
    if found.recorded_ns < limits["min_ns"] or not found.foremost:
        return
    if share < limits["min_operators"]:
        both = found.running_ns + found.between_ns
        if found.between_ns >= found.running_ns and both >= limits["min_calling"] * found.recorded_ns:
            yield between(s, found, share, limits)
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
    held = not small and found.held_ns > 0 and found.short_ns + found.held_ns >= limits["min_short"] * found.own_ns
    double, copied = (part / own >= _MOST for part in (found.double_ns, found.copied_ns))
    adding, written, table = found.adding_ns / own, found.written_ns / own, s.maybe(whole_table)
    whole = table.own_ns / table.of_ns if table is not None else 0.0
    grown = s.maybe(growing)
    appending = grown.own_ns / grown.of_ns if grown is not None else 0.0
    plain = s.maybe(plain_attention)
    attending = plain.own_ns / plain.of_ns if plain is not None else 0.0
    length = duration(found.recorded_ns)
    of = said("{length} of the steps", length=length) if found.steps else said("{length} recorded", length=length)
    yield Draft(
        title="Operators on the host take most of the time",
        summary=said(
            "Operators run for {share} of the {of}, and no device is seen. Of their own time most goes "
            "to {told}, in {number}.{small}{held}{double}{table}{grown}{plain}{adding}{written}{doubt}",
            share=percent(share), of=of, told=told, number=plural(found.number, "call"), doubt=doubt,
            small=said(
                " {part} of it is in calls of less than {short}: they take about as long whatever they compute.",
                part=percent(found.short_ns / own, 0), short=duration(SHORT_NS),
            ) if small else "",
            held=_held(found) if held else "",
            double=said(
                " {part} of it is in operators on numbers of double precision.", part=percent(found.double_ns / own, 0)
            ) if double else "",
            table=said(
                " {part} of it is in operators on the whole of a table of {rows:,} rows, of which a call looks up "
                "{used:,} at most.",
                part=percent(whole, 0), rows=table.rows, used=table.used,
            ) if table is not None and whole >= _MUCH else "",
            grown=said(
                " {part} of it is in calls that append to a tensor, which copies all of it: it grows from {first:,} to "
                "{last:,}.",
                part=percent(appending, 0), first=grown.first, last=grown.last,
            ) if grown is not None and appending >= _MUCH else "",
            plain=said(
                " {part} of it is in operators on scores of attention, {rows:,} rows of {columns:,}, which are kept in "
                "memory between them.",
                part=percent(attending, 0), rows=plain.rows, columns=plain.columns,
            ) if plain is not None and attending >= _MUCH else "",
            adding=said(" {part} of it is in operators that add up rows by index.", part=percent(adding, 0))
            if adding >= _MUCH else "",
            written=said(" {part} of it is in Python code of backward passes of its own.", part=percent(written, 0))
            if written >= _MUCH else "",
        ),
        actions=(
            *((SPARSE,) if whole >= _MUCH else ()),
            *((GROWN,) if appending >= _MUCH else ()),
            *((ATTENDED,) if attending >= _MUCH else ()),
            *((ADDED,) if adding >= _MUCH else ()),
            *((SINGLE,) if double else ()),
            *((CONVERTED,) if copied else ()),
            *((LARGER, PROVE) if held and found.alike else (LARGER, _cores(found)) if held else ()),
            *(() if held else (LARGER,) if small or written >= _MUCH else (_cores(found),)),
            *DEVICES,
            *(() if lines_told(s) else (STACKS,)),
        ),
        taken_ns=found.running_ns // max(found.steps, 1),
        confidence=0.7 if found.sure else 0.5,
        events=found.events[:20],
        rows=({"table": "operators", "where": {"name": found.foremost[0][0]}},),
        numbers={"share": round(share, 4), **limits},
        key="alone",
    )  # fmt: skip


def _held(found: OwnOperators) -> str:
    """That short calls look long, and why that may be."""
    own = max(found.own_ns, 1)
    parts = {"part": percent(found.short_ns / own, 0), "held": percent(found.held_ns / own, 0)}
    if found.alike:
        return said(
            " {part} of it is in calls of less than {short}, and {held} in single calls that take many times as long "
            "as the same ones on the same inputs: something else may have had the processor meanwhile.",
            short=duration(SHORT_NS), **parts,
        )  # fmt: skip
    return said(
        " {part} of it is in calls of less than {short}, and {held} in single calls that take many times as long as "
        "others of the same operator: they compute on more, or something else had the processor meanwhile.",
        short=duration(SHORT_NS), **parts,
    )  # fmt: skip


def _cores(found: OwnOperators) -> Action:
    """How to compute on the processor: for all threads or each, and in narrower numbers unless that is done."""
    shared = found.threads >= _THREADS
    if found.quantized or found.half:
        return SHARES if shared else CORES if found.quantized else COMPILED
    return SHARED if shared else THREADS
