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
recomputation is advised; else, where several ranks hold the same parameters (data parallelism, and ranks that share a
sequence), the first stage of sharding that brings the peak below `fits` is named, by the share of states that it
spreads over these: 12, 14 or 16 of 16 bytes per parameter for Adam in mixed precision. Where none do, the model must be
divided further: tensor parallelism within a server first, then pipeline stages. It is advice.

## What to try
Recompute the blocks whose activations are largest for what they cost to compute (attention without FlashAttention,
wide activations); or shard, with the smallest stage that suffices.

Megatron and what is built on it (MindSpeed on NPUs) have options for each.

## Known limits
Optimizers other than Adam, and training in fp32, spread other shares. Where the recording began with memory in use,
what stays is unknown and nothing is said. Whether states are spread already is not recorded: a distributed optimizer
has had its effect on what stays, and saves nothing again.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.layout import ParallelSizes, layout
from stepscope.signals.communication.process_groups import megatron
from stepscope.signals.memory.memory import failures, fullest, used_share
from stepscope.signals.shared.job import platform

#: Part of what stays that each stage spreads over the ranks (Rajbhandari et al., ZeRO, 2020).
_STAGES = (("ZeRO-1", 12 / 16), ("ZeRO-2", 14 / 16), ("ZeRO-3 (FSDP)", 1.0))
#: The same as options of Megatron: its distributed optimizer is ZeRO-1.
_MEGATRON = {
    "ZeRO-1": "--use-distributed-optimizer",
    "ZeRO-2": "--use-torch-fsdp2",
    "ZeRO-3 (FSDP)": "--use-torch-fsdp2",
}
_CODE = {
    "ZeRO-1": "optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=lr)",
    "ZeRO-2": "FSDP(model, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)",
    "ZeRO-3 (FSDP)": "for block in model.blocks:\n    fully_shard(block)\nfully_shard(model)",
}

#: Devices of a server, beyond which tensor parallelism is not to go.
_SERVER = 8
_RECOMPUTE = Action(
    "Recompute the largest blocks in the backward pass",
    before="x = block(x)",
    after="x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
    page="activation-checkpointing",
)
_SELECTIVE = Action(
    "Recompute attention's scores, which cost little; then whole layers, as many as must be",
    before="--recompute-granularity none",
    after="--recompute-granularity selective   # or: full --recompute-method block --recompute-num-layers 4",
    page="activation-checkpointing",
)
_MINDSPEED = Action(
    "MindSpeed can recompute activation functions alone, keep one copy of fp32 parameters, or swap to the host",
    before="no option of memory",
    after="--recompute-activation-function --reuse-fp32-param   # or --swap-attention",
    page="activation-checkpointing",
)


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
    where = said(
        "{activations} of the {used} at the peak live only within the step",
        activations=quantity(activations, "bytes"), used=quantity(peak.used, "bytes"),
    )  # fmt: skip
    numbers = {used_share.name: share, "activations": activations, "stays": peak.baseline, **limits}
    rows = ({"table": "memory_peaks", "where": {"device": peak.device}},)
    if activations >= limits["min_activations"] * peak.used:
        yield Draft(
            title="Activations fill the memory",
            summary=said("{where}: recomputing them in the backward pass would make room.", where=where),
            actions=_recomputing(s),
            confidence=0.8,
            rows=rows,
            numbers=numbers,
        )
        return
    told = s(layout)
    actions: tuple[Action, ...]
    if (told.world or 1) == 1:
        return
    if told.replicas is None:
        words = said(
            "; how many ranks hold the same parameters, over which their states could be spread, is not recorded"
        )
        actions, confidence = (_sharding(s, "ZeRO-1"), _dividing(told)), 0.5
    elif told.replicas == 1:
        words = said(", and no two ranks hold the same parameters: the model has to be divided among more devices")
        actions, confidence = (_dividing(told),), 0.6
    else:
        ranks = told.replicas
        fits = [(name, peak.used - peak.baseline * part * (1 - 1 / ranks)) for name, part in _STAGES]
        name, after = next(((one, left) for one, left in fits if left <= limits["fits"] * peak.total), fits[-1])
        words = said(
            "; {name} over the {ranks} ranks that hold the same parameters would bring the peak to about "
            "{after} ({share} of the device)",
            name=name, ranks=ranks, after=quantity(after, "bytes"), share=percent(after / peak.total),
        )  # fmt: skip
        actions, confidence = (
            (_sharding(s, name), *((_dividing(told),) if after > limits["fits"] * peak.total else ())),
            0.7,
        )
    yield Draft(
        title="Parameters and their states fill the memory",
        summary=said("Only {where}{words}.", where=where, words=words),
        actions=actions,
        confidence=confidence,
        rows=rows,
        numbers=numbers,
    )


def _dividing(told: ParallelSizes) -> Action:
    """Twice as many ranks for each replica: within a server first, then by stages."""
    tensor, stages = told.tensor or 1, told.pipeline or 1
    sizes = "--tensor-model-parallel-size {} --pipeline-model-parallel-size {}".format
    wider, longer = sizes(2 * tensor, stages), sizes(tensor, 2 * stages)
    return Action(
        "Divide the model among more devices: tensor parallelism within a server, then pipeline stages across servers",
        before=sizes(tensor, stages),
        after=f"{wider} --sequence-parallel" if tensor < _SERVER else longer,
        page="pipeline-parallelism",
    )


def _recomputing(s: Signals) -> tuple[Action, ...]:
    if not s.maybe(megatron):
        return (_RECOMPUTE,)
    return (_SELECTIVE, _MINDSPEED) if s.maybe(platform) == "npu" else (_SELECTIVE,)


def _sharding(s: Signals, name: str) -> Action:
    if s.maybe(megatron):
        return Action(
            said("Shard with {name}", name=name), before="--bf16", after=f"--bf16 {_MEGATRON[name]}", page="fsdp-zero"
        )
    return Action(
        said("Shard with {name}", name=name),
        before="DistributedDataParallel(model)",
        after=_CODE[name],
        page="fsdp-zero",
    )


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
