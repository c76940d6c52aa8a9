"""Matrix kernels read their operands from memory instead of L2.

## What it finds
Matrix multiplications and convolutions with counters, most of whose requests miss L2 although each operand is used many
times.

## Why it matters
Blocks that run at the same time share rows and columns. In an order in which neighbours in time share operands these
come from L2; otherwise each block fetches them from memory, which is several times slower.

## How it decides
At most `max_hits` of the requests hit L2, arithmetic of at least `min_intensity` FLOPs per byte of operands (below that
operands are read once, and nothing can hit), and memory that is busy: at least `min_busy` of its throughput, on an NPU
of the time of the unit that loads (`mte2`). Where only hits and misses are counted (an NPU's `aic_metrics=L2Cache`),
its arithmetic must reach less than `max_attained` of the device's peak instead. The kernel takes `min_share` of the
step. It is advice.

## What to try
Another order of blocks (Triton: `GROUP_SIZE_M`; CUTLASS: a swizzle; NPU: tiles of `MatMulV3`, or operands in
`FRACTAL_NZ`), and sizes whose tiles fit.

## Known limits
Needs FLOPs and bytes of the operator, hence shapes, and counters: of Nsight Compute or rocprof-compute, on an NPU
`l2_cache=True` or `aic_metrics=AiCMetrics.L2Cache`.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.inspecting import about
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.inspected import inspected

_CLASSES = ("gemm", "convolution")
_ORDER = Action(
    "Let blocks that run at the same time share operands",
    before="pid_m, pid_n = pid // num_n, pid % num_n",
    after="group = pid // (GROUP_SIZE_M * num_n)   # Triton's grouped order; CUTLASS: ThreadblockSwizzle",
    page="memory-access",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at the hits of each matrix kernel with counters."""
    for one in s(inspected):
        hits = one.values.get("l2_hit_rate")
        busy = one.values.get("memory_busy", one.values.get("loading"))
        if hits is None or one.intensity is None or one.op_class not in _CLASSES:
            continue
        if hits > limits["max_hits"] or one.share < limits["min_share"] or one.intensity < limits["min_intensity"]:
            continue
        if busy is not None and busy >= limits["min_busy"]:
            besides = said("loading is busy for {busy}", busy=percent(busy))
        elif busy is None and one.attained is not None and one.attained < limits["max_attained"]:
            besides = said("its arithmetic reaches {attained} of the device's peak", attained=percent(one.attained))
        else:
            continue
        yield about(
            one, said("Matrix kernels read their operands from memory, not L2"),
            said("{hits} of its requests hit L2, though each byte of its operands serves {intensity:,.0f} "
                 "FLOPs, and {besides}", hits=percent(hits), intensity=one.intensity, besides=besides),
            (_ORDER,), 0.6, limits, l2_hit_rate=hits,
        )  # fmt: skip


RULE = Rule(
    "KRN022",
    "cache-misses",
    thresholds=(
        Threshold("min_share", 0.02, "share", "Less is not worth looking into."),
        Threshold("max_hits", 0.5, "share", "A GEMM in a good order hits in 70 % and more."),
        Threshold("min_busy", 0.6, "share", "Nsight Compute calls memory the limit from 60 % of its throughput on."),
        Threshold("max_attained", 0.5, "share", "As for KRN006: what reaches half may be limited by something else."),
        Threshold("min_intensity", 100, "FLOP/byte", "Half precision balances at 150 FLOP/byte on A100, 300 on H100."),
    ),
    check=check,
)
