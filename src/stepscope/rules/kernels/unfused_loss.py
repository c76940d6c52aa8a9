"""The loss runs as separate operations.

## What it finds
Cross entropy made of separate operators: a softmax and a logarithm of its result, or maximum, difference, exponential,
sum and logarithm.

## Why it matters
Logits are often the largest tensor of a language model: one number per token and word of the vocabulary. Every operator
on them reads and writes gigabytes. The logarithm of a softmax is also less exact than both in one.

## How it decides
On each stream it looks for a softmax followed by a logarithm on as many elements, or for an exponential, a sum and a
logarithm of one number per row. What fusing would save must reach `min_share` of the step; the fused operator is
assumed to take as long as the longest of those that it replaces.

## What to try
`F.cross_entropy`. If the logits themselves are large, a fused linear layer and cross entropy that never makes all of
them at once (Liger Kernel), or chunks of the batch.

## Known limits
`F.cross_entropy` itself runs as two operators; that is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.rules.shared.fusing import MIN_SHARE, fused
from stepscope.signals import Signals
from stepscope.signals.kernels.fusions import losses

_LOSS = Action(
    "Compute the loss from the logits with one operator",
    before="p = torch.softmax(logits, dim=-1)\nloss = -torch.log(p.gather(-1, target[..., None])).mean()",
    after="loss = F.cross_entropy(logits.flatten(0, -2), target.flatten())",
    page="fused-kernels",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what fusing would save with the step."""
    yield from fused(s, limits, losses, (said("The loss is not fused"), said("the loss")), (_LOSS,))


RULE = Rule("KRN012", "unfused-loss", thresholds=(MIN_SHARE,), check=check)
