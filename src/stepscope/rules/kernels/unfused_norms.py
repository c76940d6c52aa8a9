"""Normalisation runs as separate operations.

## What it finds
RMS or layer normalisation made of separate operators: square, mean, root, multiplications, and casts around them.

## Why it matters
Normalisation is bound by memory: its time follows the bytes it moves. Six to eight operators move six to eight times
what one does.

## How it decides
On each stream it looks for a square and a mean, a root and multiplications, or for a mean, a difference, a square, a
mean, a root and multiplications; the root must be of a statistic (one number per row) and the last multiplication of
whole rows. What fusing would save must reach `min_share` of the step. The fused operator is assumed to take as long as
the longest of the operators that it replaces, since each of them moves at least as much as it has to.

## What to try
`F.layer_norm`, `F.rms_norm` with a PyTorch in which it is one kernel, `torch.compile` of the module, or a library's
fused form; on Ascend `torch_npu.npu_rms_norm`.

## Known limits
The backward of written-out normalisation appears as runs of pointwise kernels (KRN013) and is not part of this price.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.rules.shared.fusing import MIN_SHARE, fused
from stepscope.signals import Signals
from stepscope.signals.kernels.fusions import norms
from stepscope.signals.shared.job import platform

_BEFORE = "x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps) * weight"
_TORCH = Action(
    "Normalise with one operator",
    before=_BEFORE,
    after="F.rms_norm(x, (x.size(-1),), weight, eps)   # or F.layer_norm(x, (x.size(-1),), weight, bias, eps)",
    page="fused-kernels",
)
_COMPILE = Action(
    "Compile the model, or its normalisation, where PyTorch has no fused form of it",
    before="model.norm = Norm(width)",
    after="model.norm = torch.compile(Norm(width))",
    page="torch-compile",
)
_NPU = Action(
    "Normalise with one operator",
    before=_BEFORE,
    after="torch_npu.npu_rms_norm(x, weight, epsilon=eps)[0]",
    page="fused-kernels",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what fusing would save with the step."""
    actions = (_NPU,) if s(platform) == "npu" else (_TORCH, _COMPILE)
    yield from fused(s, limits, norms, (said("Normalisation is not fused"), said("a normalisation")), actions)


RULE = Rule("KRN009", "unfused-norms", thresholds=(MIN_SHARE,), check=check)
