"""Python between the operators takes the time.

## What it finds
A device that waits for the host while the host runs Python code between two operators: module calls, hooks, loops,
bookkeeping, conversions.

## Why it matters
Python runs on one core, one instruction after the other. Fifty microseconds between two operators are more than a
kernel of a small layer takes, and no other core and no faster device makes up for them.

## How it decides
The device must be idle for `min_share` of the step while the host is in Python (`host.python_share`), that must be at
least `min_part` of all its idle time (`host.idle_share`), and Python must take `min_gap` per operator that it calls
(`host.python_per_operator_ns`). The price is what the step would save on its dependency graph if Python took a tenth
of its time.

## What to try
Profile the host (`py-spy`, `with_stack=True`) and move what is found out of the loop. Remove hooks and wrappers around
modules. Compile the model: the compiled code calls its kernels without going through its Python.

## Known limits
`with_stack=True` makes Python itself several times slower. Code in other languages that records nothing counts as
Python.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.analyses.stepgraph import Change, Stretches
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.host.advice import fewer_launches
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host import idle_share, in_python, python_per_operator_ns, python_share, window_ns
from stepscope.signals.job import platform, steps

#: What is left of Python where the model is compiled.
_LEFT = 0.1

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
    """Hold idle time due to Python against the step and against all idle time."""
    share = s(python_share)
    if share < limits["min_share"] or share < limits["min_part"] * s(idle_share):
        return
    gap = s(python_per_operator_ns)
    if gap < limits["min_gap"]:
        return
    yield Draft(
        title="Python between operators takes the time",
        summary=f"For {percent(share)} of the step the device waits while the host is in Python: {duration(gap)} for "
        "each operator that it calls.",
        actions=(*fewer_launches(s(platform))[:1], _PROFILE, _HOOKS),
        change=Change(time=(Stretches(*s(in_python), _LEFT),)),
        most_ns=round(share * s(window_ns)),
        confidence=0.8 if s(steps) else 0.5,
        rows=({"table": "idle_causes", "where": {"cause": "host_dispatch", "detail": "python"}},),
        numbers={python_share.name: share, python_per_operator_ns.name: gap, **limits},
    )


RULE = Rule(
    "HST004",
    "python-overhead",
    thresholds=(
        Threshold("min_share", 0.03, "share", "xprof warns of launches from 3 % of the step on."),
        Threshold("min_part", 0.5, "share", "Where most idle time has another cause, that one is to be removed first."),
        Threshold("min_gap", 15_000, "ns", "Twice the 3 to 8 µs that a call of a module takes without a profiler."),
    ),
    check=check,
    symptom_of=("HST005", "HST006", "HST012", "SYN005", "DAT001", "CLU003", "SYS001", "SYS002", "SYS003"),
)
