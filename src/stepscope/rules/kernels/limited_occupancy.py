"""Registers or shared memory leave schedulers without a warp to issue from.

## What it finds
Kernels that were looked into with a kernel profiler, whose schedulers mostly have no warp that could issue, and of
which more blocks would fit if each took fewer registers or less shared memory.

## Why it matters
A scheduler hides waits of a warp behind others. With few warps resident, and all of them waiting, it issues nothing.

## How it decides
Counters of Nsight Compute: fewer than `max_eligible` eligible warps per scheduler, an achieved occupancy of at most
`max_occupancy`, and registers or shared memory as the smallest limit of blocks per SM, in a kernel that takes
`min_share` of the step. It is advice.

## What to try
Tell the compiler how many blocks should fit (`__launch_bounds__`, Triton's `maxnreg`), smaller tiles, fewer stages of
the pipeline, or more work that is independent within a thread.

## Known limits
Matrix kernels run well at low occupancy: their pipelines hide waits within a warp. Where units are busy nothing is
said. Fewer registers may spill to local memory, which is slower.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.inspecting import about
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.inspected import Inspected, inspected

_REGISTERS = Action(
    "Let the compiler use fewer registers, so that more blocks fit",
    before="__global__ void kernel(...)",
    after="__global__ void __launch_bounds__(256, 4) kernel(...)   // Triton: kernel[grid](..., maxnreg=64)",
    page="memory-access",
)
_SHARED = Action(
    "Use smaller tiles or fewer stages, so that more blocks fit",
    before="kernel[grid](..., BLOCK_M=128, BLOCK_N=128, num_stages=4)",
    after="kernel[grid](..., BLOCK_M=64, BLOCK_N=128, num_stages=3)",
    page="memory-access",
    needs=("python",),
)
_LIMITS = ("limit_registers", "limit_shared", "limit_warps", "limit_blocks")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at eligible warps and limits of each kernel that was looked into."""
    for one in s(inspected):
        limit = _limit(one, limits)
        if not limit or one.share < limits["min_share"]:
            continue
        registers = limit == "limit_registers"
        number = one.values.get("registers" if registers else "shared_bytes")
        each = (
            ""
            if number is None
            else said(" ({number:,.0f} registers per thread)", number=number)
            if registers
            else said(" ({number:,.0f} bytes of shared memory per block)", number=number)
        )
        yield about(
            one, said("Schedulers have no warp to issue from"),
            said(
                "{warps:.2f} warps per scheduler could issue on average, at an occupancy of {occupancy}; "
                "{what} limit it to {blocks:,.0f} blocks per SM{each}",
                warps=one.values["eligible_warps"], occupancy=percent(one.values["occupancy"]),
                what=said("registers") if registers else said("shared memory"),
                blocks=one.values[limit], each=each,
            ),
            (_REGISTERS, _SHARED) if limit == "limit_registers" else (_SHARED, _REGISTERS), 0.6, limits,
        )  # fmt: skip


def _limit(one: Inspected, limits: Limits) -> str:
    """The counter that limits blocks, if it is what keeps schedulers idle; else empty."""
    values = one.values
    if "eligible_warps" not in values or "occupancy" not in values:
        return ""
    if values["eligible_warps"] >= limits["max_eligible"] or values["occupancy"] > limits["max_occupancy"]:
        return ""
    if values.get("compute_busy", 0.0) >= limits["busy"]:
        return ""
    known = [(values[name], name) for name in _LIMITS if name in values]
    least = min(known, default=(0.0, ""))[1]
    return least if least in _LIMITS[:2] else ""


RULE = Rule(
    "KRN021",
    "limited-occupancy",
    thresholds=(
        Threshold("min_share", 0.02, "share", "Less is not worth looking into."),
        Threshold(
            "max_eligible", 1.0, "warps", "With fewer than one eligible warp a scheduler issues nothing at times."
        ),
        Threshold("max_occupancy", 0.5, "share", "Half of the warps: beyond, more of them rarely help."),
        Threshold("busy", 0.6, "share", "Nsight Compute calls a kernel balanced from 60 % of the throughput on."),
    ),
    check=check,
)
