"""Large operators stay far below the roofline.

## What it finds
Operators of 50 µs and more per call that take several times their roofline time.

## Why it matters
Least time is the larger of FLOPs / peak and bytes / bandwidth. Good kernels come to 60 % of it and more; a large
operator far below has a cause of its own: strided access, a kernel made for other sizes, too little parallel work.

## How it decides
By operator and shapes, efficiency (least time over time, table `roofline_shapes`) must be below `max_efficiency`. What
`reached` of the least time would save must come to `min_share` of the step; that is the price. No operator is promised
more of the device's arithmetic than the best GEMM of the recording reaches, if that is more than `max_efficiency`:
some devices never come near their peak. Lookups, copies and
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
from numpy.typing import NDArray

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, scaled_each
from stepscope.model.program import Program
from stepscope.rules.finding import Action
from stepscope.rules.kernel_advice import advice, operands
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.rooflines import slow
from stepscope.signals.shared.job import per_step, step_share
from stepscope.signals.shared.program import program
from stepscope.signals.shared.step_columns import longest

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


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what a usual efficiency would save with the step."""
    found = s(slow)
    low = found.efficiency < limits["max_efficiency"]
    best = found.best[low]
    reached = np.where(best > limits["max_efficiency"], np.fmin(best, limits["reached"]), limits["reached"])
    factor = np.minimum(found.efficiency[low] / reached, 1.0)
    dur = found.dur[low]
    if not dur.size or step_share(s, (dur * (1 - factor)).sum()) < limits["min_share"]:
        return
    taken = duration(per_step(s, dur.sum()))
    worst = next(row for row in found.rows if row["efficiency"] < limits["max_efficiency"])
    gained = duration(per_step(s, (dur * factor).sum()))
    yield Draft(
        title="Large operators are far below the roofline",
        summary=said(
            "Operators that take {taken} per step come to less than {max_efficiency} of what the device "
            "allows; {name}{operands} to {efficiency}. At {reached} they would take {gained}.",
            taken=taken, max_efficiency=percent(limits["max_efficiency"], 0), name=worst["name"],
            operands=operands(worst["shapes"]), efficiency=percent(worst["efficiency"], 0), reached=_reached(reached),
            gained=gained,
        ),
        actions=_actions(worst["op_class"], s.maybe(program)),
        change=Change(device=scaled_each(found.event[low], factor)),
        confidence=0.5,
        events=longest(found.event[low], dur),
        rows=({"table": "roofline_shapes", "where": {"name": worst["name"], "shapes": worst["shapes"]}},),
        numbers={f"{slow.name}.of_step": round(found.of_step, 4), **limits},
    )  # fmt: skip


def _actions(op_class: str, told: Program | None) -> tuple[Action, ...]:
    if op_class == "attention":
        return advice("attention", (), told or Program())
    return (_STRIDES, _COMPILE, _SIZES) if op_class == "gemm" else (_STRIDES, _COMPILE)


def _reached(shares: NDArray[np.float64]) -> str:
    """`60 %`, `42 to 60 %`."""
    low, high = (percent(float(share), 0) for share in (shares.min(), shares.max()))
    return high if low == high else said("{low} to {high}", low=low.removesuffix(" %"), high=high)


RULE = Rule(
    "KRN006",
    "poor-roofline",
    thresholds=(
        Threshold("max_efficiency", 0.3, "share", "TraceLens sorts efficiencies into below 30 %, to 60 %, and above."),
        Threshold("reached", 0.6, "share", "Above that TraceLens calls an operator efficient."),
        Threshold("min_share", 0.02, "share", "The remedy is not known beforehand, so that it must promise something."),
    ),
    check=check,
    symptom_of=(
        "KRN001", "KRN002", "KRN003", "KRN004", "KRN005", "KRN007", "KRN008", "KRN009", "KRN010", "KRN013", "CLU001",
        "SYS004",
    ),
)  # fmt: skip
