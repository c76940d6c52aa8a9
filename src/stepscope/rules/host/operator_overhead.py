"""Operators take unusually long on the host.

## What it finds
A host that takes far longer than usual to dispatch an operator or to make a launch call, while the device waits for it.

## Why it matters
The model may be fine: the same program on a faster or less busy host would keep the device busy. Cores in a power
saving mode, a process bound to the wrong NUMA node or sharing its cores, a debug build or a debugging aid slow down
every operator alike.

## How it decides
The profiler must not be what slows them (`profiler_cost.added_work`: REC002 says so). The device must be idle for
`min_share` of the step while the host is in operators or runtime calls (`host.operators_share`), that must be at least
`min_part` of all its idle time (`host.idle_share`), and either half of the operators that call nothing must take
`max_operator` or more (`host.operator_ns`), or half of the launch calls `max_call` (`host.call_ns`). The price is what
the step would save on its dependency graph if operators and calls took what is usual: 2 µs for such an operator, 5 µs
for a launch.

## What to try
See what else runs on the cores; bind the process to cores of its own near the device; let the processor run at its full
clock. Switch off anomaly detection, checks and debug builds. Then launch less.

## Known limits
Slowing by the profiler is detected where stacks make operators of one thread longer than equal ones of another, and
where an observer numbers them. Otherwise record once without stacks, shapes and memory, which are slow to record before
PyTorch 1.13: if operators are fast then, nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.host_advice import fewer_launches
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.host import call_ns, idle_share, in_operators, operator_ns, operators_share
from stepscope.signals.host.profiler_cost import added_work
from stepscope.signals.shared.job import platform, step_ns, steps

#: Usual times in ns: what calls nothing, and a launch; medians of recordings of healthy jobs are below.
_OPERATOR, _CALL = 2_000, 5_000

_BIND = Action(
    "Give the process cores of its own, near its device, at their full clock",
    before="torchrun --nproc-per-node=8 train.py",
    after="cpupower frequency-set --governor performance\n"
    "numactl --cpunodebind=0 --membind=0 python train.py  # the device's node: nvidia-smi topo -m",
    page="host-cores",
)
_DEBUG = Action(
    "Switch off what checks every operator",
    before="torch.autograd.set_detect_anomaly(True)",
    after="torch.autograd.set_detect_anomaly(False)",
    page="host-cores",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of operators and calls with what is usual, where the profiler is not what takes it."""
    profiler = s.maybe(added_work)
    if profiler is not None and profiler.cause:
        return
    share = s(operators_share)
    if share < limits["min_share"] or share < limits["min_part"] * s(idle_share):
        return
    operator, call = s(operator_ns), s(call_ns)
    if operator < limits["max_operator"] and call < limits["max_call"]:
        return
    left = min(_OPERATOR / operator if operator else 1.0, _CALL / call if call and not operator else 1.0)
    times = [said("an operator that calls nothing takes {operator}", operator=duration(operator))] * bool(operator)
    times += [said("a launch call {en_takes}{call}", en_takes="takes " * (not operator), call=duration(call))] * bool(
        call
    )
    yield Draft(
        title="Operators take long on the host",
        summary=said(
            "For {share} of the step the device waits while the host dispatches operators: {times}, where "
            "{operator} and {call} are usual.",
            share=percent(share), times=listing(times, " and "), operator=duration(_OPERATOR), call=duration(_CALL),
        ),
        actions=(_BIND, _DEBUG, *fewer_launches(s(platform))[:1]),
        change=Change(time=(Stretches(*s(in_operators), left),)),
        most_ns=round(share * s(step_ns)),
        confidence=0.7 if s(steps) else 0.5,
        rows=({"table": "idle_causes", "where": {"cause": "host_dispatch", "detail": "op_overhead"}},),
        numbers={operators_share.name: share, operator_ns.name: operator, call_ns.name: call, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST003",
    "operator-overhead",
    thresholds=(
        Threshold("min_share", 0.03, "share", "xprof warns of launches from 3 % of the step on."),
        Threshold("min_part", 0.5, "share", "Where most idle time has another cause, that one is to be removed first."),
        Threshold(
            "max_operator", 8_000, "ns", "Several times the 0.4 to 1.2 µs that profiled jobs on current hosts show."
        ),
        Threshold(
            "max_call", 15_000, "ns", "Three times the 5 µs of a launch; HolisticTraceAnalysis lists from 50 µs."
        ),
    ),
    check=check,
    elsewhere=native.LAUNCHING,
    symptom_of=(
        "HST007",
        "HST008",
        "MEM007",
        "HST010",
        "HST011",
        "HST021",
        "HST023",
        "SYN005",
        "CLU003",
        "ASC003",
        "ASC004",
        "ASC008",
        "SYS001",
    ),
)
