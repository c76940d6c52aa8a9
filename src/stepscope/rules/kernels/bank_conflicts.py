"""Accesses to shared memory collide in its banks.

## What it finds
Kernels with counters, a large part of whose accesses to shared memory (LDS, an NPU's unified buffer) wait for each
other because they go to the same bank.

## Why it matters
Shared memory answers all threads of a warp at once if each asks another bank. Those that ask the same one are answered
one after the other, and the kernel's time grows by as much where it lives on shared memory.

## How it decides
Conflicts are at least `min_conflicts` of the accesses (NVIDIA: of the wavefronts, AMD: of the cycles in which LDS is
active), on an NPU `min_npu` of the cycles of vector instructions (`aiv_vec_bank_cflt_ratio` and
`aiv_vec_bankgroup_cflt_ratio`), in a kernel that takes `min_share` of the step. It is advice.

## What to try
Pad rows of tiles by one element, or swizzle addresses. On an NPU: other block strides for conflicts of bank groups,
operands that begin in different banks for conflicts of banks.

## Known limits
Says nothing of kernels without counters: NVIDIA and AMD need a kernel profiler's result, NPUs
`aic_metrics=AiCMetrics.ResourceConflictRatio`. Nsight Compute counts some conflicts twice that several requests share.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.inspecting import about
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.ascend import recorded
from stepscope.signals.kernels.inspected import inspected

_PAD = Action(
    "Pad the rows of tiles in shared memory by one element, or swizzle their addresses",
    before="__shared__ float tile[32][32];",
    after="__shared__ float tile[32][33];   // CUTLASS, CuTe, Triton: a swizzled layout",
    page="memory-access",
    needs=("cuda or rocm",),
)
_STRIDE = Action(
    "Let operands of a vector instruction begin in different banks, and blocks stride over bank groups",
    before="AscendC::Add(c, a, b, mask, repeat, {1, 1, 1, 8, 8, 8});   // a and b 0 bytes apart modulo 16 KB",
    after="buffers 256 bytes apart: pipe.InitBuffer(b, size + 256)   // and block strides that are no multiple of 16",
    page="memory-access",
    needs=("npu",),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at the conflicts of each kernel with counters."""
    on_npu = s(recorded)
    least = limits["min_npu"] if on_npu else limits["min_conflicts"]
    for one in s(inspected):
        conflicts = one.values.get("bank_conflicts")
        if conflicts is None or conflicts < least or one.share < limits["min_share"]:
            continue
        what = (
            said("the cycles of its vector instructions wait")
            if on_npu
            else said("its accesses to shared memory repeat others")
        )
        yield about(
            one, said("Accesses to shared memory collide in its banks"),
            said("{conflicts} of {what} because of conflicts", conflicts=percent(conflicts), what=what),
            (_PAD, _STRIDE), 0.7, limits, bank_conflicts=conflicts,
        )  # fmt: skip


RULE = Rule(
    "KRN020",
    "bank-conflicts",
    thresholds=(
        Threshold("min_share", 0.02, "share", "Less is not worth looking into."),
        Threshold(
            "min_conflicts", 0.2, "share", "A fifth of the accesses: Nsight Compute warns of any with an effect."
        ),
        Threshold("min_npu", 0.15, "share", "Cycles are lost outright there; some per cent are usual."),
    ),
    check=check,
)
