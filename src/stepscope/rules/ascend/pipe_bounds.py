"""Kernels keep no pipe of their cores busy, or only the scalar one, or those that move data.

## What it finds
Types of kernels in which no pipe (cube, vector, the units that move data) is busy for long, such in which the scalar
unit is what is busy, and such in which those that move data are the limit.

## Why it matters
A kernel can't be faster than its busiest pipe. One whose busiest pipe works a third of the time is limited by something
else: scalar code, tiles that are too small, unsuitable formats. One that only moves data would cost nothing if it were
fused with its neighbour. The scalar unit computes addresses and loops, one number at a time: work that it is busy with
is a hundredth of what vector and cube units do in that time.

## How it decides
Types of kernels with at least `min_type` of the device's compute time, in kernels of at least `min_ns`. If the
busiest pipe is busy for less than `max_busy` of their time, there is room: the price is what the step would save if
it were busy for `bound`. Where the scalar unit is busy for `scalar` or more of their time and no other pipe for
`max_busy`, they are bound by scalar code; what the same work would take on the other units is not recorded, so that
it is advice. Where moving data takes `moving` or more of the time of vector kernels, it is said so as advice: what
computes so little can be part of a neighbour. Kernels of optimizers move data by nature, and do not count. Cores that
ran for less than a tenth of the time of a kernel's others say nothing of it.

## What to try
Larger and evenly divisible shapes, half precision, formats that need no conversion, fused operators instead of
sequences. For scalar code: operations on whole vectors in place of loops over elements, addresses that are computed
once, tiles that are copied in one call.

## Known limits
Needs the counters of pipes. Ratios are means over a kernel; short phases of full use do not show. A scalar unit that
waits, for data or for other cores, counts as busy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.model.events.change import Change, scaled_each
from stepscope.model.kernel_names import classify
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_kernels import NpuKernels, cores, is_vector, pipes
from stepscope.signals.shared.job import per_step, step_share
from stepscope.signals.shared.step_columns import longest

#: Types that only change how numbers are stored.
_CONVERSION: Final = re.compile(r"TransData|Transpose|Cast|TensorMove")
_SHAPES = Action(
    "Give kernels shapes and data types that their units work in: multiples of 16 in half precision, whole tiles",
    before="x = x.float(); hidden = 1000",
    after="with torch.autocast('npu', dtype=torch.bfloat16): ...   # hidden = 1024",
    page="npu-operators",
)
_FUSE = Action(
    "Fuse what only moves data with its neighbours, by a fused operator or a kernel of one's own",
    page="npu-operators",
)
_CONVERT = Action(
    "Avoid conversions of formats, layouts and types, or fuse them with their neighbours",
    before="y = x.transpose(1, 2).contiguous().to(torch.float32)",
    after="torch_npu.npu.config.allow_internal_format = False   # no conversions of formats",
    page="npu-operators",
)
_WHOLE_VECTORS = Action(
    "Let the vector and cube units do the work: whole vectors in place of loops over elements, one copy per tile",
    before="for i in T.serial(n):\n    c[i] = a[i] + b[i]   # each element through the scalar unit",
    after="T.copy(a_gm, a_ub)\nT.tile.add(c_ub, a_ub, b_ub)   # a vector instruction for the whole tile",
    needs=("python",),
    page="npu-operators",
)
_VECTOR_CALLS = Action(
    "Let the vector and cube units do the work: one instruction for a whole tile in place of loops over elements",
    before="for (int i = 0; i < n; i++) c.SetValue(i, a.GetValue(i) + b.GetValue(i));",
    after="AscendC::Add(c, a, b, n);   // TileLang: an operation on tiles in place of T.serial",
    needs=("native", "npu"),
    page="npu-operators",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at the busiest pipe of each type of kernel."""
    found, ratios = s(cores), s(pipes)
    busiest = np.max(np.stack(list(ratios.values())), axis=0)
    moving = np.max(np.stack([v for name, v in ratios.items() if "mte" in name] or [busiest * 0]), axis=0)
    other = np.max(np.stack([v for name, v in ratios.items() if "scalar" not in name] or [busiest * 0]), axis=0)
    long = (found.dur >= limits["min_ns"]) & (busiest > 0)
    idle, moved, scalar = (np.zeros(found.event.size, np.bool_) for _ in range(3))
    total = int(found.dur.sum())
    for kind in np.unique(found.op_type[long]).tolist():
        mine = long & (found.op_type == kind)
        if found.dur[mine].sum() < limits["min_type"] * total:
            continue
        weights = found.dur[mine]
        if np.average(busiest[mine], weights=weights) < limits["max_busy"]:
            idle |= mine
        elif (
            np.average(busiest[mine], weights=weights) >= limits["scalar"]
            and np.average(other[mine], weights=weights) < limits["max_busy"]
        ):
            scalar |= mine
        elif is_vector(found.core[mine]).all() and np.average(moving[mine], weights=weights) >= limits["moving"]:
            moved |= mine
    if scalar.any():
        yield _scalar(s, found.where(scalar), busiest[scalar], other[scalar], limits)
    if idle.any():
        yield _room(found.where(idle), busiest[idle], limits)
    moved &= ~_updates(found)
    if found.dur[moved].sum() >= limits["min_moving"] * total and moved.any():
        yield _moving(found.where(moved), moving[moved], limits)


def _updates(found: NpuKernels) -> NDArray[np.bool_]:
    """Kernels of optimizers: one pass over parameters and state computes little, and has no neighbour to join."""
    names, index = np.unique(found.name, return_inverse=True)
    theirs = [classify(name).op_class == "optimizer" for name in names.tolist()]
    told: NDArray[np.bool_] = np.array(theirs, np.bool_)[index]
    return told


def _room(found: NpuKernels, busiest: NDArray[np.float64], limits: Limits) -> Draft:
    mean = float(np.average(busiest, weights=found.dur))
    return Draft(
        title="Kernels keep no pipe of their cores busy",
        summary=said(
            "{size:,.0f} kernels per step ({types}) keep even their busiest pipe busy for only {mean} of their time.",
            size=found.event.size / found.steps, types=found.types(), mean=percent(mean),
        ),
        actions=(_SHAPES, _CONVERT),
        change=Change(device=scaled_each(found.event, np.minimum(busiest / limits["bound"], 1.0))),
        confidence=0.5,
        events=longest(found.event, found.dur),
        rows=({"table": "kernels", "where": {"name": str(found.name[found.dur.argmax()])}},),
        numbers={"busiest": mean, **limits},
        key="room",
    )  # fmt: skip


def _scalar(
    s: Signals, found: NpuKernels, busy: NDArray[np.float64], other: NDArray[np.float64], limits: Limits
) -> Draft:
    mean, rest = (float(np.average(one, weights=found.dur)) for one in (busy, other))
    share = step_share(s, found.dur.sum())
    return Draft(
        title="Kernels are bound by scalar code",
        summary=said(
            "{size:,.0f} kernels per step ({types}, {share} of the step) keep the scalar units of their cores "
            "busy for {mean} of their time, and no other pipe for more than {rest}: it goes to loops over "
            "single elements, addresses, or waiting in these.",
            size=found.event.size / found.steps, types=found.types(), share=percent(share), mean=percent(mean),
            rest=percent(rest),
        ),
        actions=(_WHOLE_VECTORS, _VECTOR_CALLS, _SHAPES),
        taken_ns=per_step(s, found.dur.sum()),
        waiting=rest < limits["idle"],
        confidence=0.8,
        events=longest(found.event, found.dur),
        rows=({"table": "kernels", "where": {"name": str(found.name[found.dur.argmax()])}},),
        numbers={"scalar_busy": mean, "other_busy": rest, **limits},
        key="scalar",
    )  # fmt: skip


def _converts(found: NpuKernels) -> bool:
    """Whether most of the time is that of conversions between formats, layouts or types."""
    mine = np.array([bool(_CONVERSION.search(kind)) for kind in found.op_type.tolist()], np.bool_)
    return bool(2 * found.dur[mine].sum() > found.dur.sum())


def _moving(found: NpuKernels, moving: NDArray[np.float64], limits: Limits) -> Draft:
    mean = float(np.average(moving, weights=found.dur))
    return Draft(
        title="Vector kernels are bound by moving data",
        summary=said(
            "{size:,.0f} kernels per step ({types}) only move data for {mean} of their time.",
            size=found.event.size / found.steps, types=found.types(), mean=percent(mean),
        ),
        actions=(_CONVERT if _converts(found) else _FUSE,),
        confidence=0.5,
        events=longest(found.event, found.dur),
        rows=({"table": "kernels", "where": {"name": str(found.name[found.dur.argmax()])}},),
        numbers={"moving": mean, **limits},
        key="moving",
    )  # fmt: skip


RULE = Rule(
    "ASC007",
    "pipe-bounds",
    thresholds=(
        Threshold(
            "max_busy",
            0.5,
            "share",
            "msprof-analyze calls an operator unbound if no pipe exceeds 0.8; below "
            "half there is something to gain beyond doubt.",
        ),
        Threshold("bound", 0.8, "share", "Ratio at which msprof-analyze calls an operator bound by a pipe."),
        Threshold(
            "scalar",
            0.9,
            "share",
            "Busy through: a cube or vector kernel's scalar unit feeds the others for 0.2 to 0.8 of the time.",
        ),
        Threshold("idle", 0.05, "share", "Other units that are used less do none of the work: the device waits then."),
        Threshold(
            "moving",
            0.9,
            "share",
            "What msprof-analyze takes for a vector operator that is bound, of all pipes together.",
        ),
        Threshold("min_moving", 0.2, "share", "Less than a fifth of the compute time is the price of any model."),
        Threshold("min_type", 0.01, "share", "msprof-analyze looks at types with 1 % of the time."),
        Threshold("min_ns", 20_000, "ns", "Shorter kernels are ruled by their launch; msprof-analyze has 20 µs too."),
    ),
    check=check,
)
