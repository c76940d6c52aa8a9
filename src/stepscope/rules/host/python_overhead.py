"""Python between operators keeps the device waiting.

## What it finds
A device that waits for the host while the host runs Python code between two operators: module calls, hooks, loops,
bookkeeping, conversions.

## Why it matters
Python runs on one core. Fifty microseconds between two operators exceed the kernel of a small layer, and neither more
cores nor a faster device make up for them.

## How it decides
The device must wait for the host to launch work for `min_share` of the step (`profiler_cost.own_dispatch_share`, which
is without what the profiler adds), the host must be in Python for `min_part` of the time in which it makes work rather
than waits (`host.python_part`), and Python must take `min_gap` per operator that it calls
(`host.python_per_operator_ns`). The price is what the step would save on its dependency graph if Python took a tenth of
its time, and at most what the device waits.

## What to try
Profile the host (`py-spy`, `with_stack=True`) and move what is found out of the loop. Remove hooks and wrappers around
modules. Compile the model: the compiled code calls its kernels without going through its Python.

## Known limits
`with_stack=True` makes Python itself several times slower. Code in other languages that records nothing counts as
Python.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules.finding import Action
from stepscope.rules.host_advice import fewer_launches, slowed
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.host import dispatch_gaps, in_python, python_part, python_per_operator_ns
from stepscope.signals.host.profiler_cost import own_dispatch_share
from stepscope.signals.shared.job import platform, step_ns, steps

#: What is left of Python where the model is compiled.
_LEFT = 0.1

#: Fewer gaps in a step are no loop over operators: something else ends each of them.
MIN_GAPS = 10

_PROFILE = Action(
    "See which functions take the time, and move them out of the loop",
    before="python train.py",
    after="py-spy record --native -o profile.svg -- python train.py",
    page="fewer-launches",
)
_HOOKS = Action(
    "Remove hooks, wrappers and checks around every module",
    before="for module in model.modules():\n    module.register_forward_hook(collect_statistics)",
    after="if step % 100 == 0:\n    collect_statistics(model)",
    page="fewer-launches",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare waiting for the host with the step, and Python with the rest of the host's work."""
    share = s(own_dispatch_share)
    if share < limits["min_share"] or s(python_part) < limits["min_part"]:
        return
    if s(dispatch_gaps) < MIN_GAPS:
        return
    gap = s(python_per_operator_ns)
    if gap < limits["min_gap"]:
        return
    yield Draft(
        title="Python between operators keeps the device waiting",
        summary=said(
            "For {share} of the step the device waits for the host, which spends {python_part} of its "
            "launching time in Python: {gap} per operator.{slowed}",
            share=percent(share), python_part=percent(s(python_part)), gap=duration(gap), slowed=slowed(s),
        ),
        actions=(*fewer_launches(s(platform))[:1], _PROFILE, _HOOKS),
        change=Change(time=(Stretches(*s(in_python), _LEFT),)),
        most_ns=round(share * s(step_ns)),
        confidence=0.8 if s(steps) else 0.5,
        rows=({"table": "idle_causes", "where": {"cause": "host_dispatch", "detail": "python"}},),
        numbers={
            own_dispatch_share.name: share,
            python_part.name: s(python_part),
            python_per_operator_ns.name: gap,
            **limits,
        },
    )  # fmt: skip


RULE = Rule(
    "HST004",
    "python-overhead",
    thresholds=(
        Threshold("min_share", 0.03, "share", "xprof warns of launches from 3 % of the step on."),
        Threshold(
            "min_part", 0.33, "share", "Where operators and calls take twice as much, these are to be made fewer first."
        ),
        Threshold("min_gap", 15_000, "ns", "Twice the 3 to 8 µs that a call of a module takes without a profiler."),
    ),
    check=check,
    symptom_of=(
        "HST005",
        "HST006",
        "HST012",
        "HST021",
        "HST023",
        "SYN005",
        "DAT001",
        "CLU003",
        "SYS001",
        "SYS002",
        "SYS003",
    ),
)
