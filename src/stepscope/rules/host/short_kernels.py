"""Kernels are shorter than their launches.

## What it finds
Steps whose kernels take a few microseconds each, less than the host needs to launch the next one, while the device
waits for the host.

## Why it matters
A launch costs the host some 5 to 10 µs with PyTorch's operator around it, whatever the kernel does. Shorter kernels
can't keep the device busy.

## How it decides
Dispatch must leave the device idle for `min_share` of the step (`profiler_cost.own_dispatch_share`, which is without
what the profiler adds) in `min_gaps` gaps or more (`host.dispatch_gaps`), without steps not in the first half alone
(`host.ramp_share`). Half of all kernels must take less than `max_kernel` (`host.kernel_ns`), and less than passes
between two launches (`host.launch_period_ns`). The price is what the step would save on its dependency graph if
dispatching took a tenth of its time.

## What to try
Fuse: `torch.compile`, fused operators and optimizers, library calls instead of written-out formulas. Launch many at
once: CUDA graphs. Make each kernel larger: larger batches, several small models or heads in one GEMM.

## Known limits
Short kernels that are launched ahead of time cost little, and are not reported. Profiling makes launches slower.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules import native
from stepscope.rules.host.launch_bound import LEFT
from stepscope.rules.host_advice import launching_less, slowed
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.host import dispatch_gaps, dispatching, kernel_ns, launch_period_ns, ramp_share
from stepscope.signals.host.profiler_cost import own_dispatch_share
from stepscope.signals.shared.job import step_ns, steps


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare kernels with the time between launches."""
    share = s(own_dispatch_share)
    if share < limits["min_share"] or s(dispatch_gaps) < limits["min_gaps"]:
        return
    if s(ramp_share) > limits["max_ramp"]:
        return
    kernel, period = s(kernel_ns), s(launch_period_ns)
    if not 0 < kernel < min(limits["max_kernel"], period):
        return
    yield Draft(
        title="Kernels are shorter than their launches",
        summary=said(
            "Half of all kernels take less than {kernel}, and the host launches one every {period}: for "
            "{share} of the step the device waits for the next one.{slowed}",
            kernel=duration(kernel), period=duration(period), share=percent(share), slowed=slowed(s),
        ),
        actions=launching_less(s),
        change=Change(time=(Stretches(*s(dispatching), LEFT),)),
        most_ns=round(share * s(step_ns)),
        confidence=0.85 if s(steps) else 0.5,
        rows=({"table": "short_kernels", "where": {}},),
        numbers={own_dispatch_share.name: share, kernel_ns.name: kernel, launch_period_ns.name: period, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST002",
    "short-kernels",
    thresholds=(
        Threshold("min_share", 0.1, "share", "xprof and msprof-analyze warn from 10 % of idle time on."),
        Threshold("min_gaps", 10, "per step", "A few long gaps are not dispatch: something else ends each of them."),
        Threshold("max_ramp", 0.9, "share", "More of it in the first half is a queue that fills, once."),
        Threshold("max_kernel", 10_000, "ns", "TraceLens and nsys-ai call kernels of less than 10 µs short."),
    ),
    check=check,
    elsewhere=native.LAUNCHING,
    symptom_of=(
        "HST003", "HST004", "HST005", "HST006", "HST007", "HST008", "HST009", "HST010", "HST011", "HST012",
        "HST021", "HST023",
        "SYN001", "SYN002", "SYN003", "SYN004", "SYN005", "DAT001", "DAT003", "DAT004", "DAT005", "CLU003",
        "CPY001", "CPY002", "CPY005", "MEM002", "MEM005", "COM003", "COM008", "KRN008", "KRN009", "KRN010", "KRN011",
        "KRN012", "KRN013", "ASC001", "ASC003", "ASC004", "ASC008", "SYS001", "SYS002", "SYS003", "REC002",
    ),
)  # fmt: skip
