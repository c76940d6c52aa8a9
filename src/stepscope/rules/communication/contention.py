"""Matrix multiplications run slower while collectives run beside them.

## What it finds
Tensor-core kernels that take clearly longer while communication overlaps them than equal kernels do without it. On
NPUs also transfers of collectives that are slower while a matrix multiplication runs.

## Why it matters
Overlapped communication is not free: its kernels occupy SMs or CUs and memory bandwidth that the compute kernels
would use. Where the loss exceeds the gain of overlapping, both are faster one after the other.

## How it decides
Equal kernels (same name, grid and input shapes) are compared: those that a collective overlapped for more than half of
their time with the median of those without overlap, at least three of each. All together must be slower by
`min_slowdown`. The price is what the step would save if they ran as fast as alone. Transfers recorded by HCCL are
compared in the same way: those during matrix multiplications with the others, or with `usual_rate` if there are none.

## What to try
Give communication fewer SMs (`NCCL_MAX_CTAS`, `NCCL_MAX_NCHANNELS`), let copy engines or switches do it
(NCCL's user buffers and zero-CTA collectives), or move the largest collectives next to kernels that leave units free.

## Known limits
Clock throttling that coincides with communication looks the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.comm_tasks import beside_matmul, parts
from stepscope.signals.communication.communication import calls
from stepscope.signals.communication.contention import crowded
from stepscope.signals.shared.job import platform

_CTAS = Action(
    "Let communication occupy fewer SMs",
    before="NCCL_MAX_CTAS unset",
    after="export NCCL_MAX_CTAS=8   # fewer until collectives, no longer hidden, become the bottleneck",
    page="overlapping-communication",
)
_AIV = Action(
    "Fuse the collective with the matrix multiplication: such operators compute and communicate in turns",
    before="out = torch.matmul(x, w)\ndist.all_reduce(out)",
    after="out = torch_npu.npu_mm_all_reduce_base(x, w, hcom, reduce_op='sum')",
    page="hccl-settings",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what runs at the same time with what runs alone."""
    looked = [_kernels(s, limits), _transfers(s, limits)]
    for draft in looked:
        yield from draft


def _kernels(s: Signals, limits: Limits) -> Iterator[Draft]:
    found = s(crowded)
    if found.slowdown < limits["min_slowdown"]:
        return
    yield Draft(
        title="Communication slows matrix multiplications down",
        summary=said(
            "{size} tensor-core kernels that overlap with collectives take {slowdown} longer than equal "
            "kernels without overlap.",
            size=found.event.size, slowdown=percent(found.slowdown),
        ),
        actions=(_AIV if s(platform) == "npu" else _CTAS,),
        change=Change(device=scaled_each(found.event, np.minimum(found.alone / found.dur, 1.0))),
        confidence=0.7,
        events=found.event[np.argsort(found.alone - found.dur, kind="stable")[:20]],
        rows=({"table": "comm_overlap", "where": {"group": None}},),
        numbers={"slowdown": found.slowdown, "kernels": found.event.size, "min_slowdown": limits["min_slowdown"]},
        key="kernels",
    )  # fmt: skip


def _transfers(s: Signals, limits: Limits) -> Iterator[Draft]:
    every = s.maybe(parts)
    if every is None:
        return
    local = every.transport == "SDMA"
    beside, free = every.where(local & s(beside_matmul)), every.where(local & ~s(beside_matmul))
    usual = free.rate or limits["usual_rate"]
    if not beside.event.size or beside.rate >= (1 - limits["min_slowdown"]) * usual:
        return
    try:
        slow = np.isin(s(calls).event, beside.collective)
        change = Change(device=scaled_each(s(calls).event[slow], np.full(int(slow.sum()), beside.rate / usual)))
    except MissingInputError:
        change = None
    yield Draft(
        title="Matrix multiplications slow transfers down",
        summary=said(
            "Transfers during matrix multiplications run at {rate} instead of {usual}.",
            rate=quantity(beside.rate, "bytes/s"), usual=quantity(usual, "bytes/s"),
        ),
        actions=(_AIV,),
        change=change,
        confidence=0.6,
        events=np.unique(beside.collective)[:20],
        rows=({"table": "comm_overlap", "where": {"group": None}},),
        numbers={"rate": beside.rate, "usual": usual, **limits},
        key="transfers",
    )  # fmt: skip


RULE = Rule(
    "COM005",
    "contention",
    thresholds=(
        Threshold("min_slowdown", 0.2, "share", "msprof-analyze reports contention below 0.8 of the usual rate."),
        Threshold("usual_rate", 18e9, "bytes/s", "What msprof-analyze takes for the usual rate of a transfer by SDMA."),
    ),
    check=check,
)
