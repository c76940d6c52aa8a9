"""Activations are computed a second time, though the device's memory may have room to keep them.

## What it finds
Steps in which activation checkpointing runs parts of the forward pass again during the backward pass.

## Why it matters
Recomputation trades time for memory: up to a third of the compute of a step. Where memory is not short, that time buys
nothing.

## How it decides
Kernels launched while activations are recomputed (phase `recomputation`) run for at least `min_share` of the step. With
recorded allocations, the peak of memory in use must be at most `max_used` of the device's; then the price is what the
step would save without these kernels. Where the peak is unknown there is no price: memory may be what forbids it.

## What to try
Checkpoint fewer layers, beginning with those that are expensive to compute and small to keep, until the memory is used;
or recompute selectively.

## Known limits
Keeping all activations may need more memory than there is, even if a part of them fits. What a compiler chose to
recompute is inside its kernels.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.memory import fullest, used_share
from stepscope.signals.memory.recomputed import recomputed_ns, recomputed_share, recomputing

_FEWER = Action(
    "Checkpoint fewer layers, as long as memory suffices",
    before="x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
    after="x = block(x)  # in as many layers as fit into memory",
    page="activation-checkpointing",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare recomputation with the step, and the peak of memory with what there is."""
    share = s(recomputed_share)
    if share < limits["min_share"]:
        return
    used = s.maybe(used_share)
    if used is not None and used > limits["max_used"]:
        return
    room = said("whether memory has room to keep them is not recorded")
    if used is not None:
        peak = s(fullest)
        room = said(
            "at most {used} ({share}) of the device's memory are in use",
            used=quantity(peak.used, "bytes"), share=percent(used),
        )  # fmt: skip
    known = used is not None and not s(fullest).bound
    yield Draft(
        title="Activations are computed again in the backward pass",
        summary=said(
            "Activation checkpointing runs kernels of the forward pass again for {recomputed} of each "
            "step ({share}); {room}.",
            recomputed=duration(s(recomputed_ns)), share=percent(share), room=room,
        ),
        actions=(_FEWER,),
        change=Change(device=(Scaled(s(recomputing), 0.0),)) if known else None,
        taken_ns=None if known else s(recomputed_ns),
        confidence=0.7 if known else 0.4,
        events=s(recomputing)[:20],
        rows=({"table": "phases", "where": {"phase": "recomputation"}},),
        numbers={recomputed_share.name: share, **({used_share.name: used} if used is not None else {}), **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM018",
    "needless-recomputation",
    thresholds=(
        Threshold("min_share", 0.03, "share", "A medium part of the step, as of other findings."),
        Threshold("max_used", 0.7, "share", "Some layers' activations then fit, with a tenth or more to spare."),
    ),
    check=check,
)
