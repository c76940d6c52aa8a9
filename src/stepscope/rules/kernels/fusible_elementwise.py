"""Chains of pointwise operations are not fused.

## What it finds
Three or more pointwise kernels one after another on equally many elements: casts, masks, scalings, sums, and the
backward of written-out formulas.

## Why it matters
Each of them reads its inputs from memory and writes its result there, and the next one reads it again. Fused, all of
them take about as long as one.

## How it decides
On each stream it looks for pointwise operations in a row on equally many elements, with at least two that compute
something rather than copy or fill; a row ends with the step, and where a number is read from the device. Operations of
the optimizer, and those that KRN008 to KRN012 speak of, do not count. What fusing would save must reach `min_share` of
the step; a fused kernel is assumed to take as long as the longest of those that it replaces.

## What to try
`torch.compile` for the module; where it can't be compiled, in-place and combined operators (`addcmul`, `torch.lerp`,
`F.dropout` and addition in a fused layer).

## Known limits
Recordings do not say which tensors operators read: kernels on equally many elements next to each other may work on
unrelated tensors. More than eight of the same in a row, or of the same few over and over, are assumed to: they are
done to one tensor after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.rules.shared.fusing import MIN_SHARE, fused
from stepscope.signals import Signals
from stepscope.signals.kernels.fusions import runs
from stepscope.signals.shared.job import platform

_COMPILE = Action(
    "Compile the model, or the modules with the most of them",
    before="model = Model().to(device)",
    after="model = torch.compile(Model().to(device))",
    page="torch-compile",
)
_INDUCTOR = Action(
    "Let Inductor compile them: other backends capture without fusing, and what lies outside of the compiled part "
    "stays as it is written",
    before='step = torch.compile(step, backend="cudagraphs")',
    after="step = torch.compile(step)   # Inductor; the loss and what follows it, too",
    page="torch-compile",
    needs=("compiled",),
)
_NPU = Action(
    "Replace them by fused operators, or compile the model",
    before="model = Model().npu()",
    after="model = torch.compile(Model().npu(), backend=torchair.get_npu_backend())",
    page="fused-kernels",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what fusing would save with the step."""
    actions = (_NPU,) if s(platform) == "npu" else (_COMPILE, _INDUCTOR)
    words = (said("Pointwise operations are not fused"), said("a chain of pointwise operations"))
    yield from fused(s, limits, runs, words, actions)


RULE = Rule(
    "KRN013",
    "fusible-elementwise",
    thresholds=(MIN_SHARE,),
    check=check,
    symptom_of=("KRN009", "KRN010", "KRN011"),
)
