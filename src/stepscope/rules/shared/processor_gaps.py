"""What is said where Python takes longer to call operators than these run, in a recording without a device."""

from __future__ import annotations

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.rule import Draft, Limits
from stepscope.rules.shared.processor_remedies import LARGER, STACKS
from stepscope.signals import Signals
from stepscope.signals.host.own_operators import OwnOperators
from stepscope.signals.shared.program import program


def between(s: Signals, found: OwnOperators, share: float, limits: Limits) -> Draft:
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
        actions=(LARGER, *(() if lines_told(s) else (STACKS,))),
        taken_ns=(found.running_ns + found.between_ns) // number,
        confidence=0.6 if found.traced else 0.7,
        rows=({"table": "operators", "where": {"name": found.foremost[0][0]}},),
        numbers={"share": round(share, 4), "between": round(found.between_ns / found.recorded_ns, 4), **limits},
        key="calling",
    )  # fmt: skip


def lines_told(s: Signals) -> bool:
    """Whether the recording tells the lines of the program that call operators, and on what shapes."""
    told = s.maybe(program)
    return told is not None and {"with_stack", "record_shapes"} <= told.recorded
