"""Activation functions run as separate operations.

## What it finds
Activations made of separate operators, such as GELU by its formula with `tanh`, or `x * sigmoid(x)`, forward and
backward.

## Why it matters
Each operator reads and writes a tensor that is usually the widest of the model. One operator reads it once.

## How it decides
On each stream it looks for pointwise operations one after another on equally many elements, with `tanh`, `erf`,
`sigmoid` or an exponential among them, or four and more with an activation or its backward among them. What fusing
would save must reach `min_share` of the step; the fused operator is assumed to take as long as the longest of those
that it replaces.

## What to try
`F.gelu(x, approximate="tanh")`, `F.silu`, `F.mish`, ...; for others, and gates, `torch.compile`; on Ascend also
`torch_npu.npu_swiglu` and `torch_npu.fast_gelu`.

## Known limits
Recordings do not say which tensors operators read. A gate `a * sigmoid(b)` looks like `x * sigmoid(x)`; compiling fuses
both.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.rules.shared.fusing import MIN_SHARE, fused
from stepscope.signals import Signals
from stepscope.signals.kernels.fusions import activations
from stepscope.signals.shared.job import platform

_TORCH = Action(
    "Use the activation that PyTorch has as one operator",
    before="0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))\nx * torch.sigmoid(x)",
    after='F.gelu(x, approximate="tanh")\nF.silu(x)',
    page="fused-kernels",
)
_COMPILE = Action(
    "Compile the module whose activation PyTorch does not have",
    before="block.mlp(x)",
    after="block.mlp = torch.compile(block.mlp)",
    page="torch-compile",
)
_GATE = Action(
    "Use a fused gate",
    before="gate, up = x.chunk(2, dim=-1)\nF.silu(gate) * up",
    after="torch_npu.npu_swiglu(x, dim=-1)",
    page="fused-kernels",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what fusing would save with the step."""
    second = _GATE if s(platform) == "npu" else _COMPILE
    yield from fused(
        s, limits, activations, (said("An activation is not fused"), said("an activation")), (_TORCH, second)
    )


RULE = Rule("KRN010", "unfused-activations", thresholds=(MIN_SHARE,), check=check)
