"""The device waits for the host to launch its work.

## What it finds
Steps in which the device idles again and again because its next kernel has not been launched yet: operators, Python and
launch calls take the host longer than the device's work takes.

## Why it matters
In a healthy job the host runs ahead and launched work waits on the stream; here the stream is empty, and a faster
device would change nothing.

## How it decides
Idle time whose cause is dispatch, and the latency of launches into an empty queue, must come to `min_share` of the step
in at least `min_gaps` gaps (`profiler_cost.own_dispatch_share`, `host.dispatch_gaps`), which without steps must not lie
in the first half alone (`host.ramp_share`). Time that the profiler adds is taken off. A host that calls nothing of the
device for milliseconds is not dispatching but at other work (HST013, DAT006), and a launch call that loads its kernel
happens once. The price is what the step would save on its dependency graph if all that dispatching took a tenth of its
time, which is what graphs and compilation come to, and at most that idle time. Where other rules know what the host
spends its time on, this finding is a symptom of theirs.

## What to try
Launch less: compile the model, capture it as a graph, make batches larger, use fused operators. Make launching
cheaper: keep the host free of other work, bind it to cores near the device.

## Known limits
Profiling makes the host slower, most of all with `with_stack`, `record_shapes` and `profile_memory`: record once
without them before believing a small value. Without steps, what is idle before and after the work counts as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules import native
from stepscope.rules.host_advice import launching_less, slowed
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.host import (
    dispatch_gaps,
    dispatching,
    kernel_ns,
    launch_period_ns,
    operators_share,
    python_share,
    ramp_share,
)
from stepscope.signals.host.profiler_cost import own_dispatch_share
from stepscope.signals.shared.job import step_ns, steps

#: Part of the dispatch time that remains when a step is a few graphs.
LEFT = 0.1


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare idle time due to dispatch with the step."""
    share = s(own_dispatch_share)
    if share < limits["min_share"] or s(dispatch_gaps) < limits["min_gaps"]:
        return
    if s(ramp_share) > limits["max_ramp"]:
        return
    period = s(launch_period_ns)
    pace = said(", and the host launches one every {period}", period=duration(period)) if period else ""
    yield Draft(
        title="The device waits for the host to launch work",
        summary=said(
            "For {share} of the step the device idles because its next work is not launched yet "
            "(operators {operators_share}, Python {python_share}): half of all kernels take less than "
            "{kernel}{pace}.{slowed}",
            share=percent(share), operators_share=percent(s(operators_share)), python_share=percent(s(python_share)),
            kernel=duration(s(kernel_ns)), pace=pace, slowed=slowed(s),
        ),
        actions=launching_less(s),
        change=Change(time=(Stretches(*s(dispatching), LEFT),)),
        most_ns=round(share * s(step_ns)),
        confidence=0.8 if s(steps) else 0.5,
        rows=({"table": "idle_causes", "where": {"cause": "host_dispatch"}},),
        numbers={own_dispatch_share.name: share, dispatch_gaps.name: s(dispatch_gaps), **limits},
    )  # fmt: skip


RULE = Rule(
    "HST001",
    "launch-bound",
    thresholds=(
        Threshold("min_share", 0.1, "share", "xprof and msprof-analyze warn from 10 % of idle time on."),
        Threshold("min_gaps", 10, "per step", "A few long gaps are not dispatch: something else ends each of them."),
        Threshold("max_ramp", 0.9, "share", "More of it in the first half is a queue that fills, once."),
    ),
    check=check,
    elsewhere=native.LAUNCHING,
    symptom_of=(
        "HST002", "HST003", "HST004", "HST005", "HST006", "HST007", "HST008", "HST009", "HST010", "HST011", "HST012",
        "HST021", "HST022", "HST023",
        "SYN001", "SYN002", "SYN003", "SYN004", "SYN005", "DAT001", "DAT003", "DAT004", "DAT005", "CLU003",
        "CPY001", "CPY002", "CPY005", "MEM002", "MEM005", "COM003", "COM008", "KRN008", "KRN009", "KRN010", "KRN011",
        "KRN012", "KRN013", "ASC001", "ASC003", "ASC004", "ASC008", "SYS001", "SYS002", "SYS003", "REC002",
    ),
)  # fmt: skip
