"""Samples show what kernels are limited by: memory, too few blocks, waiting, or tensor cores that do nothing.

## What it finds
While kernels run: memory that carries nearly all it can, SMs without work, instructions that are rarely issued although
nothing is busy, and tensor cores that do nothing although kernels multiply matrices.

## Why it matters
How long a kernel takes does not show whether it is good. What the device does meanwhile does: a kernel that memory
limits gains nothing by faster arithmetic, and one that fills half of the device gains nothing by fewer bytes.

## How it decides
Samples of the device's units count that lie within the work of compute kernels, `min_samples` of them, where kernels
run for `min_busy` of the step. Memory is the limit from `memory` of its bandwidth on, reads and writes together; on
NPUs so many bytes of all kernels by the counters of their cores (`aic_metrics=Memory`). SMs lack work where less than
`few` of them have some; kernels wait where `filled` of them have, and what is issued, what memory carries and what
tensor cores do are each less than `waiting`. Tensor cores do nothing below `unused`, where GEMMs, convolutions and
attention take `matrix_kernels` of what is computed. All of it is advice: what another kernel would take is not
recorded.

## What to try
Memory: fuse operations, narrower types, more tokens for each reading of the weights. SMs: larger batches, independent
work side by side. Waiting: the vendor's kernel profiler on the kernel that is named. Tensor cores: half precision.

## Known limits
A sample is a mean over all that ran in its time, of other processes too. Kernels shorter than the time between two
samples count where they follow each other without gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import percent, plural
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.dominance import compute
from stepscope.signals.kernels.unit_use import unit_use
from stepscope.signals.shared.job import recorded_steps

_NONE: Final = np.empty(0, np.int64)
#: Rules that tell by names, grids and occupancy what samples show, as causes of each kind of finding.
_CAUSES: Final = {
    "memory": set[str](), "SMs": {"KRN004", "KRN016"}, "waiting": {"KRN004", "KRN016"},
    "tensor cores": {"KRN001"},
}  # fmt: skip
_MATRICES: Final = ("gemm", "attention", "convolution")
_FUSE: Final = Action(
    "Fuse what reads and writes whole tensors for little arithmetic",
    before="y = model(x)",
    after="model = torch.compile(model)\ny = model(x)",
    page="fused-kernels",
)
_NARROWER: Final = Action(
    "Move fewer bytes: half precision for activations, 8 or 4 bits for weights that are read for few tokens",
    page="amp",
)
_ELSEWHERE: Final = Action(
    "Merge kernels that pass arrays to each other, and store them in narrower types", page="memory-access"
)
_HALF: Final = Action(
    "Compute in half precision, which tensor cores are made for",
    before="y = model(x)",
    after='with torch.autocast("cuda", dtype=torch.bfloat16):\n    y = model(x)',
    page="amp",
)
_LARGER: Final = Action(
    "Give each kernel more to do: larger batches, or several small problems in one", page="batch-size"
)
_BESIDE: Final = Action("Run kernels that do not need each other's results on several streams", page="streams")
_LOOK: Final = Action(
    "See what warps wait for, and how many of them are resident, in the kernel that takes most", page="memory-access"
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Hold the samples within kernels against what each limit looks like."""
    use, of = s(unit_use), s(compute)
    if of.busy < limits["min_busy"] or (use.sampled and use.samples < limits["min_samples"]):
        return
    memory, filled, issued, matrix = (use.shares.get(name) for name in ("memory", "SMs", "issue", "tensor cores"))
    if memory is not None and memory >= limits["memory"]:
        yield _draft(
            s, ("memory", said("Kernels are limited by the memory's bandwidth")), limits,
            said("they read and write at {memory} of the memory's bandwidth{rest}", memory=percent(memory),
                 rest="" if matrix is None
                 else said(", and tensor cores work for {matrix} of the time", matrix=percent(matrix))),
            (_FUSE, _NARROWER, _ELSEWHERE),
        )  # fmt: skip
    elif filled is not None and filled < limits["few"]:
        yield _draft(
            s, ("SMs", said("Kernels leave part of the device without work")), limits,
            said("only {filled} of the SMs have work", filled=percent(filled)), (_LARGER, _BESIDE),
        )  # fmt: skip
    elif (
        memory is not None and issued is not None and matrix is not None and filled is not None
        and filled >= limits["filled"]
        and max(memory, issued, matrix) < limits["waiting"]
    ):  # fmt: skip
        yield _draft(
            s, ("waiting", said("Kernels wait, and keep no unit busy")), limits,
            said("{filled} of the SMs have work, but issue instructions in {issued} of the cycles; "
                 "memory carries {memory} of what it can, and tensor cores work for {matrix} of the time",
                 filled=percent(filled), issued=percent(issued), memory=percent(memory), matrix=percent(matrix)),
            (_LOOK, _LARGER),
        )  # fmt: skip
    share = sum(part for role, part in of.roles if role in _MATRICES)
    if matrix is not None and matrix < limits["unused"] and share >= limits["matrix_kernels"] * of.busy:
        yield _draft(
            s, ("tensor cores", said("Tensor cores do nothing while matrices are multiplied")), limits,
            said("tensor cores work for {matrix} of the time, though GEMMs, convolutions and attention take {share} of "
                 "the step", matrix=percent(matrix), share=percent(share)), (_HALF,),
        )  # fmt: skip


def _draft(s: Signals, about: tuple[str, str], limits: Limits, seen: str, actions: tuple[Action, ...]) -> Draft:
    use, of = s(unit_use), s(compute)
    key, title = about
    number = (
        plural(use.samples, "sample")
        if use.sampled
        else plural(use.samples, "kernel with counters", "kernels with counters")
    )
    foremost = next(iter(of.kernels), None)
    named = (
        ""
        if foremost is None
        else said(" Most of the time goes to {kernel} ({share}).", kernel=foremost.short, share=percent(foremost.share))
    )
    return Draft(
        title=title,
        summary=said(
            "Kernels run for {busy} of the time. Meanwhile, by {number}, {seen}.{named}",
            busy=percent(of.busy), number=number, seen=seen, named=named,
        ),
        actions=actions,
        taken_ns=round(of.busy * of.length_ns) // s(recorded_steps),
        confidence=0.7,
        events=_NONE if foremost is None else foremost.events[:20],
        apart_from=tuple(sorted({"KRN001", "KRN004", "KRN016"} - _CAUSES[key])),
        rows=({"table": "device_samples" if use.sampled else "core_metrics"},),
        numbers={**{name: round(share, 4) for name, share in use.shares.items()}, "busy": round(of.busy, 4), **limits},
        key=key,
    )  # fmt: skip


RULE = Rule(
    "KRN024",
    "sampled-units",
    thresholds=(
        Threshold("min_busy", 0.2, "share", "Of kernels that run less of the time little is to be gained."),
        Threshold("min_samples", 20, "count", "A mean of fewer samples is one of a few kernels."),
        Threshold("memory", 0.6, "share", "Nsight Compute calls memory the limit from 60 % of its throughput on."),
        Threshold("few", 0.5, "share", "Half of the device without work is beyond the last wave of any kernel."),
        Threshold("filled", 0.7, "share", "Blocks are on most SMs, so that more of them are no remedy."),
        Threshold("waiting", 0.3, "share", "Of kernels that use a unit well, one of these is beyond 60 %."),
        Threshold("unused", 0.005, "share", "Rounding of samples, which are whole per cents."),
        Threshold("matrix_kernels", 0.3, "share", "Less would not show among the samples of other kernels."),
    ),
    check=check,
    symptom_of=("KRN001", "KRN004", "KRN016"),
)
