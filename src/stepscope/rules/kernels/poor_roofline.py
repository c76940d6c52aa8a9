"""Large operators stay far below the roofline.

## What it finds
Operators of 50 µs and more per call that take several times their roofline time.

## Why it matters
Least time is the larger of FLOPs / peak and bytes / bandwidth. Good kernels come to 60 % of it and more; a large
operator far below has a cause of its own: strided access, a kernel made for other sizes, too little parallel work.

## How it decides
By operator and shapes, efficiency (least time over time, table `roofline_shapes`) must be below `max_efficiency`. What
`reached` of the least time would save must come to `min_share` of the step; that is the price. Lookups, copies and
updates of parameters do not count, since their bytes do not determine their least time, nor do GEMMs with fewer tiles
of 128 x 128 than the device has SMs or CUs.

## What to try
Look at the strides first: transposed or sliced operands make kernels read single elements. Then sizes (KRN003), types
(KRN001), another library or algorithm, or fusing with neighbours.

## Known limits
It says that something is slow, not why. FLOPs of operators that skip work (causal attention) are counted in full.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.rooflines import slow
from stepscope.signals.shared.job import recorded_ns, recorded_steps

_STRIDES = Action(
    "Give the operator contiguous operands, or change the order of dimensions once instead of in every call",
    before="y = x.transpose(1, 2) * scale   # in every layer",
    after="x = x.transpose(1, 2).contiguous()   # once",
)
_COMPILE = Action(
    "Let the compiler choose: it tries several kernels for each size",
    before="model = torch.compile(model)",
    after='model = torch.compile(model, mode="max-autotune")',
    page="torch-compile",
)
_SIZES = Action("Choose sizes that the libraries have good kernels for", page="tensor-shapes")
_BACKEND = Action(
    "Try the other implementations of attention; sizes per head of 64 and 128 have the best kernels",
    before="F.scaled_dot_product_attention(q, k, v)",
    after="with torch.nn.attention.sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]):\n"
    "    F.scaled_dot_product_attention(q, k, v)",
    page="flash-attention",
)
_ACTIONS = {"attention": (_BACKEND,), "gemm": (_STRIDES, _COMPILE, _SIZES)}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what a usual efficiency would save with the step."""
    found = s(slow)
    low = found.efficiency < limits["max_efficiency"]
    factor = np.minimum(found.efficiency[low] / limits["reached"], 1.0)
    dur = found.dur[low]
    if not dur.size or float((dur * (1 - factor)).sum()) / s(recorded_ns) < limits["min_share"]:
        return
    worst = next(row for row in found.rows if row["efficiency"] < limits["max_efficiency"])
    yield Draft(
        title="Large operators are far below the roofline",
        summary=f"Operators that take {duration(int(dur.sum()) // s(recorded_steps))} per step come to less than "
        f"{percent(limits['max_efficiency'], 0)} of what the device allows; {worst['name']} with inputs "
        f"{worst['shapes'][:80]} to {percent(worst['efficiency'], 0)}.",
        actions=_ACTIONS.get(worst["op_class"], (_STRIDES, _COMPILE)),
        change=Change(device=scaled_each(found.event[low], factor)),
        confidence=0.5,
        events=found.event[low][np.argsort(-dur, kind="stable")[:20]],
        rows=({"table": "roofline_shapes", "where": {"name": worst["name"], "shapes": worst["shapes"]}},),
        numbers={f"{slow.name}.of_step": round(found.of_step, 4), **limits},
    )


RULE = Rule(
    "KRN006",
    "poor-roofline",
    thresholds=(
        Threshold("max_efficiency", 0.3, "share", "TraceLens sorts efficiencies into below 30 %, to 60 %, and above."),
        Threshold("reached", 0.6, "share", "Above that TraceLens calls an operator efficient."),
        Threshold("min_share", 0.02, "share", "The remedy is not known beforehand, so that it must promise something."),
    ),
    check=check,
    symptom_of=("KRN001", "KRN002", "KRN003", "KRN004", "KRN005", "KRN007", "KRN008", "KRN009", "KRN010", "KRN013"),
)
