"""Weights, gradients and optimizer state: bytes per parameter, and how many parameters a device holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.planning.family.counts import parameters
from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout, Schedule
from stepscope.planning.multiplications import multiplications
from stepscope.planning.stages import Stage

#: Bytes of an optimizer's moments per parameter; the fp32 copy of the weights is not among them.
_MOMENTS: Final = {"adam": 8.0, "adam8bit": 2.0, "sgd": 4.0, "adafactor": 0.1, "muon": 4.0}


@dataclass(frozen=True, slots=True)
class Held:
    """Parameters that a device's part of the model has, before anything is sharded over replicas.

    Attributes:
        common: Whose replicas are all data-parallel ranks.
        experts: Whose replicas are the ranks that hold the same experts.
        largest: Of the largest layer, as it is gathered.
        ends: Of embedding and output layer.
    """

    common: float
    experts: float
    largest: float
    ends: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.common + self.experts


def held(shape: ModelShape, layout: Layout, stage: Stage) -> Held:
    """The parameters of a device on a pipeline stage."""
    counts = parameters(shape)
    tp = layout.tp
    vocab = padded_vocab(shape, layout)
    ends = 0.0
    if stage.first:
        ends += shape.hidden * (vocab / tp + shape.positions)
    if stage.last and not (shape.tied and stage.first):
        # A tied embedding has a copy on the last stage, too.
        ends += shape.hidden * vocab / tp
    sparse = (counts.attention + counts.shared) / tp
    dense = (counts.attention + counts.dense_mlp) / tp
    one_experts = counts.experts / (layout.ep * layout.expert_split)
    copies = 2 if layout.schedule is Schedule.DUAL_PIPE else 1
    return Held(
        common=copies * (stage.dense * dense + stage.sparse * sparse) + ends,
        experts=copies * stage.sparse * one_experts,
        largest=max(dense if stage.dense else 0.0, sparse + one_experts if stage.sparse else 0.0),
        ends=ends,
    )


def padded_vocab(shape: ModelShape, layout: Layout) -> int:
    """The vocabulary as Megatron pads it: to a multiple of 128 per tensor-parallel rank."""
    if layout.framework in (Framework.MEGATRON, Framework.DEEPSPEED) and layout.tp > 1:
        step = 128 * layout.tp
        return -(-shape.vocab // step) * step
    return shape.vocab


@dataclass(frozen=True, slots=True)
class StateBytes:
    """Bytes per parameter, unsharded."""

    weights: float
    gradients: float
    optimizer: float


def per_parameter(layout: Layout) -> StateBytes:
    """What a framework keeps for each parameter.

    Megatron-LM: 2 for weights, 4 for gradients, which are summed in fp32, and 12 for the fp32 copy and Adam's moments:
    18, or 6 + 12/d with the distributed optimizer (its documentation of the distributed optimizer; Narayanan et al.
    2021). DeepSpeed: 2, 2 and 12 (Rajbhandari et al. 2020, ZeRO, arXiv 1910.02054, section 3.1); its BF16_Optimizer,
    which pipelines use, 2, 6 and 12 (runtime/bf16_optimizer.py). FSDP keeps the fp32 weights themselves: 4, 4 and 8.
    With fp8, NVIDIA's recipes keep weights as fp8 with their transpose (fp8 parameters of Transformer Engine), and
    gradients in bf16; else both are cached beside the 16-bit weights (Transformer Engine's is_first_microbatch).
    Megatron's gradients are as wide as they are reduced (param_and_grad_buffer.py: grad_dtype).
    """
    if layout.lora:
        # Frozen weights lie in 16 bits, under Transformer Engine's fp8 with both fp8 copies unless these are all.
        copies = layout.precision == "fp8" and layout.framework is Framework.MEGATRON and not layout.fp8_weights
        return StateBytes(4 if copies or layout.precision == "fp32" else 2, 0, 0)
    moments = _MOMENTS[layout.optimizer]
    summed = 2 if layout.narrow_reduction else 4
    if layout.precision == "fp32":
        return StateBytes(4, 4, moments)
    if not layout.master_weights:
        # Weights, gradients and moments are of 16 bits; Megatron's gradients still are summed in fp32.
        return StateBytes(2, summed if layout.framework is Framework.MEGATRON else 2, moments / 2)
    if layout.framework in (Framework.FSDP, Framework.TORCHTITAN):
        # ReplicaTime without sharding cast with autocast, which keeps 16-bit copies.
        return StateBytes(4 if layout.zero >= 2 else 6, 4, moments)
    if layout.framework is Framework.DEEPSPEED:
        # With a pipeline, bf16 gradients are summed in fp32 beside those of the micro-batch, whole on every replica; of
        # fp16 ones, those that the optimizer works on are laid end to end (2), and that is copied to fp32 (4).
        gradients = 6.0 if layout.precision == "bf16" and layout.pp > 1 else 2.0
        copied = 6.0 if layout.precision == "fp16" and layout.zero < 3 else 0.0
        return StateBytes(2, gradients, 4 + moments + copied)
    if layout.precision == "fp8":
        return StateBytes(2, 2, 4 + moments) if layout.fp8_weights else StateBytes(4, summed, 4 + moments)
    return StateBytes(2, summed, 4 + moments)


def state_parts(shape: ModelShape, layout: Layout, stage: Stage) -> dict[str, float]:
    """Bytes of weights, gradients and optimizer state of a device, as ZeRO's stage shards them."""
    parts = {"weights": 0.0, "gradients": 0.0, "optimizer": 0.0}
    each = per_parameter(layout)
    mine = held(shape, layout, stage)
    fsdp = layout.framework in (Framework.FSDP, Framework.TORCHTITAN)
    for number, shards in ((mine.common, layout.sharded_over), (mine.experts, expert_shards(layout))):
        # FSDP that does not reshard (stage 2) keeps its fp32 shards, and the gathered weights beside.
        sharded = layout.zero >= 3 or (fsdp and layout.zero == 2)
        parts["weights"] += number * each.weights / (shards if sharded else 1)
        parts["gradients"] += number * each.gradients / (shards if layout.zero >= 2 else 1)
        parts["optimizer"] += number * each.optimizer / (shards if layout.zero >= 1 else 1)
    if layout.lora:
        for name, each_trained in (("weights", 2.0), ("gradients", 4.0), ("optimizer", 12.0)):
            parts[name] += each_trained * _low_rank(shape, layout, stage)
    if layout.offload in ("optimizer", "weights"):
        parts["optimizer"] = 0.0
    if layout.offload == "weights":
        parts["weights"] = 0.0 if layout.zero >= 3 else parts["weights"]
    return parts


def _low_rank(shape: ModelShape, layout: Layout, stage: Stage) -> float:
    """Parameters of the low-rank matrices beside a stage's linear layers; routers have none."""
    found = 0.0
    for layers, sparse in ((stage.dense, False), (stage.sparse, True)):
        if not layers:
            continue
        linear = multiplications(shape, layout, sparse)[: -1 if sparse else None]
        found += layers * sum(count * (columns + depth) for _, columns, depth, count in linear)
    return layout.lora * found


def expert_shards(layout: Layout) -> int:
    """Ranks over which the state of experts is sharded."""
    return max(1, min(layout.sharded_over * layout.tp // layout.expert_split, layout.expert_ranks // layout.ep or 1))
