"""Logging and metrics take time in the loop.

## What it finds
Functions of the step that log, print, draw progress bars or work out metrics, and calls of the operating system that
write.

## Why it matters
Logged values are computed in every step, though read rarely. Formatting and writing take host time, values of tensors
are copied from the device first, and a terminal or a shared file system may block the program.

## How it decides
Such functions must take `min_share` of the mean step on the threads that run the steps
(`logging_functions.logging_share`); they are recognised by their names and those of their libraries. Functions around a
whole iteration do not count, nor does what is called once in three or more steps. The price is what the step would save
on its dependency graph without them.

## What to try
Log every hundredth step. Add up metrics on the device and fetch them together. Write from a thread of its own, or from
one rank only.

## Known limits
Needs recorded Python functions (`with_stack=True`) or calls of the operating system (Nsight Systems, `--trace=osrt`).
Functions with names of their own kind are not recognised.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.logging_functions import logging, logging_share, logging_waits_ns
from stepscope.signals.shared.job import recorded_steps, step_ns, stepless
from stepscope.signals.shared.step_columns import longest

#: What comes once in so many steps may not come again.
_LOOP = 3
#: Waiting that is so much of it belongs into the sentence.
_WAITS = 0.1

_RARELY = Action(
    "Log once in many steps",
    before="writer.add_scalar('loss', loss.item(), step)",
    after="if step % 100 == 0:\n    writer.add_scalar('loss', loss.item(), step)",
    page="logging",
)
_TOGETHER = Action(
    "Keep statistics on the device and fetch them together",
    before="log({name: p.grad.norm().item() for name, p in model.named_parameters()})",
    after="if step % 100 == 0:\n    norms = torch.stack(torch._foreach_norm([p.grad for p in model.parameters()]))\n"
    "    log(dict(zip(names, norms.tolist())))  # one copy, one wait",
    page="logging",
)


_BUFFERED = Action(
    "Write to memory, and to the file once in many iterations, or in another thread",
    before='fprintf(log, "%d %f\\n", i, residual);',
    after="log[n++] = residual;\nif (n == 1000) { fwrite(log, sizeof *log, n, file); n = 0; }",
    page="logging",
    needs=("native",),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare such functions with the step."""
    found = s(logging)
    if not found.events.size or s(logging_share) < limits["min_share"]:
        return
    number = found.events.size
    if number == 1 and (s(stepless) or s(recorded_steps) >= _LOOP):
        return  # no loop, or once in it
    yield Draft(
        title="Logging takes time in the loop",
        summary=said(
            "Logging, printing or metrics take {logging_share} of the step, in {calls}: {names}.{waiting}",
            logging_share=percent(s(logging_share)), calls=_calls(number, s(recorded_steps)),
            names=", ".join(found.names), waiting=_waiting(s),
        ),
        actions=(_RARELY, _TOGETHER),
        change=Change(host=(Scaled(found.events, 0.0),)),
        confidence=0.85,
        events=longest(found.events, found.dur),
        numbers={logging_share.name: s(logging_share), "min_share": limits["min_share"]},
    )  # fmt: skip


def _calls(number: int, steps: int) -> str:
    """How often: `3 calls per step`, or `7 calls in 48 steps` where many steps have none."""
    if number < steps:
        return said("{calls} in {steps}", calls=plural(number, "call"), steps=plural(steps, "step"))
    rate = number / steps
    return said("{rate} calls per step", rate=f"{rate:,.{0 if rate.is_integer() else 1}f}")


def _waiting(s: Signals) -> str:
    """That part of it is waiting for the device, which would be busy anyway; empty where that is little."""
    waits = s.maybe(logging_waits_ns) or 0
    if waits < _WAITS * s(logging_share) * s(step_ns):
        return ""
    return said(
        " {waits} of that is waiting for the device to finish its work, for the numbers that are logged.",
        waits=duration(waits),
    )


RULE = Rule(
    "HST006",
    "logging-in-loop",
    thresholds=(Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),),
    check=check,
    elsewhere=(_BUFFERED,),
)
