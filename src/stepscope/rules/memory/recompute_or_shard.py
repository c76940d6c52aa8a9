"""Activations or parameters fill the memory: recompute or shard.

## What it finds
Nearly full memory whose make-up is known: what stays from step to step (parameters, gradients, states of the
optimizer) and what only lives within one (activations).

## Why it matters
The two need different remedies: recomputing activations does not reduce optimizer states, and sharding states does not
reduce activations.

## How it decides
The peak must reach `min_share` of the device's memory, or an allocation must have failed. The least memory in use
within a step is what stays. If at least `min_activations` of the peak is above that, activations dominate, and
recomputation is advised; else, with several ranks, the first stage of sharding that brings the peak below `fits` is
named, by the share of states that it spreads: 12, 14 or 16 of 16 bytes per parameter for Adam in mixed precision. It
is advice.

## What to try
Recompute the blocks whose activations are largest for what they cost to compute (attention without FlashAttention,
wide activations); or shard, with the smallest stage that suffices.

## Known limits
Optimizers other than Adam, and training in fp32, spread other shares. Where the recording began with memory in use,
what stays is unknown and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.process_groups import world_size
from stepscope.signals.memory.memory import failures, fullest, used_share

#: Part of what stays that each stage spreads over the ranks (Rajbhandari et al., ZeRO, 2020).
_STAGES = (("ZeRO-1", 12 / 16), ("ZeRO-2", 14 / 16), ("ZeRO-3 (FSDP)", 1.0))
_CODE = {
    "ZeRO-1": "optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=lr)",
    "ZeRO-2": "FSDP(model, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)",
    "ZeRO-3 (FSDP)": "for block in model.blocks:\n    fully_shard(block)\nfully_shard(model)",
}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what stays with what only lives within a step."""
    share, peak = s(used_share), s(fullest)
    if share < limits["min_share"] and not s(failures):
        return
    if peak.baseline is None or peak.bound or peak.total is None:
        raise MissingInputError(
            "what stays in memory from step to step is not recorded",
            hint="record some whole steps with profile_memory=True, with totals",
        )
    activations = peak.used - peak.baseline
    where = (
        f"{quantity(activations, 'bytes')} of the {quantity(peak.used, 'bytes')} at the peak live only within the step"
    )
    numbers = {used_share.name: share, "activations": activations, "stays": peak.baseline, **limits}
    rows = ({"table": "memory_peaks", "where": {"device": peak.device}},)
    if activations >= limits["min_activations"] * peak.used:
        yield Draft(
            title="Activations fill the memory",
            summary=f"{where}: recomputing them in the backward pass would make room.",
            actions=(
                Action(
                    "Recompute the largest blocks in the backward pass",
                    before="x = block(x)",
                    after="x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
                    page="activation-checkpointing",
                ),
            ),
            confidence=0.8,
            rows=rows,
            numbers=numbers,
        )
        return
    ranks = s(world_size) or 1
    fits = [(name, peak.used - peak.baseline * part * (1 - 1 / ranks)) for name, part in _STAGES]
    chosen = next(((name, after) for name, after in fits if after <= limits["fits"] * peak.total), fits[-1])
    if ranks > 1:
        name, after = chosen
        yield Draft(
            title="Parameters and their states fill the memory",
            summary=f"Only {where}; {name} over {ranks} ranks would bring the peak to about {quantity(after, 'bytes')} "
            f"({percent(after / peak.total)} of the device).",
            actions=(Action(f"Shard with {name}", before="DistributedDataParallel(model)", after=_CODE[name],
                            page="fsdp-zero"),),
            confidence=0.7,
            rows=rows,
            numbers=numbers,
        )  # fmt: skip


RULE = Rule(
    "MEM009",
    "recompute-or-shard",
    thresholds=(
        Threshold("min_share", 0.9, "share", "torch-tb-profiler advised checkpointing from 90 % of the memory on."),
        Threshold("min_activations", 0.5, "share", "What makes up most of the peak is what to lower."),
        Threshold("fits", 0.8, "share", "Leaves room for communication buffers and uneven sizes."),
    ),
    check=check,
)
