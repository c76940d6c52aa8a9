"""A layout: how a model's training is laid out over devices, and with which choices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from stepscope.language import said
from stepscope.model.amounts import plural
from stepscope.model.errors import UserError


class Recompute(str, Enum):
    """What the backward pass computes again instead of keeping it."""

    NONE = "none"
    #: Scores and softmax of attention: Megatron's selective recomputation.
    SELECTIVE = "selective"
    #: All but chosen operators (attention, every other matrix multiplication): torchtitan's selective op.
    OPERATORS = "operators"
    #: Outputs of norms, activations and latent projections: Megatron-core's layernorm, moe_act and mla_up_proj.
    MODULES = "modules"
    #: Those, and experts as a whole with what is sent to them and back: Megatron-core's layernorm and moe.
    EXPERTS = "moe"
    #: Whole layers, some of them.
    LAYERS = "layers"
    #: Every layer, of which only the input is kept.
    FULL = "full"


class Framework(str, Enum):
    """Whose rules of memory and overlap hold."""

    MEGATRON = "megatron"
    FSDP = "fsdp"
    TORCHTITAN = "torchtitan"
    DEEPSPEED = "deepspeed"


class Schedule(str, Enum):
    """In what order a pipeline's stages work."""

    GPIPE = "gpipe"
    ONE_F_ONE_B = "1f1b"
    INTERLEAVED = "interleaved"
    ZERO_BUBBLE = "zero-bubble"
    DUAL_PIPE = "dualpipe"


@dataclass(frozen=True, slots=True)
class Layout:
    """Every choice of a training job. Sizes of groups are numbers of ranks.

    Attributes:
        tp: Tensor parallelism.
        pp: Pipeline stages.
        dp: ReplicaTime that see different samples; context-parallel ranks are not counted in it.
        cp: Ranks that share a sequence.
        ep: Ranks that share the experts of a layer; part of `dp` x `cp` (x `tp`).
        shards: Ranks that share weights, gradients or optimizer state; 0 for all of `dp` x `cp`.
        virtual_stages: Model chunks of each pipeline stage.
        schedule: The pipeline's.
        micro_batch: Sequences that a replica computes at a time.
        global_batch: Sequences per step, of all replicas.
        seq: Tokens per sequence.
        zero: 0: nothing is sharded over replicas; 1: optimizer state; 2: gradients too; 3: weights too.
        sequence_parallel: Whether norms and residuals are split over the tensor-parallel ranks.
        recompute: What is recomputed.
        recomputed_layers: With `Recompute.LAYERS`: how many of all layers.
        precision: `bf16`, `fp16`, `fp8` or `fp32`.
        attention: `flash`, `flash3` (the fused kernels of Hopper and later), `flash1` (those of 2022: Triton's and
            xFormers', too), or `unfused`.
        offload: `none`, `optimizer` or `weights` (both), kept in the host's memory.
        optimizer: `adam`, `adam8bit`, `sgd`, `adafactor` or `muon`.
        framework: Whose rules hold.
        master_weights: Whether weights of 16 bits have an fp32 copy that the optimizer works on; without it its state
            is as wide as they are.
        reduce_each: Whether sharded data parallelism reduces the gradients of each micro-batch; else it keeps them
            whole until the last.
        expert_tp: Ranks over which one expert is split; 0 for as many as `tp`.
        grouped_dispatch: Whether a token crosses to a server once for all experts there (DeepEP, HybridEP).
        fp8_weights: Whether fp8 training keeps weights in fp8 and gradients in 16 bits, as NVIDIA's recipes do; else
            fp8 copies lie beside 16-bit weights.
        lora: Rank of the low-rank matrices beside each linear layer that alone are trained, the rest being frozen; 0
            where all weights are trained.
        fused_loss: Whether the loss is one kernel that keeps no copies of the logits: compiled, Liger's, Transformer
            Engine's.
        narrow_reduction: Whether gradients are summed over replicas, and by Megatron over micro-batches, in 16 bits
            where fp32 is usual.
        compiled: Whether element-wise work is fused by a compiler.
        overlap: Whether collectives of data parallelism overlap with compute.
        tp_overlap: Whether those of tensor parallelism do, too.
        ep_overlap: Whether those of experts do, too.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    shards: int = 0
    virtual_stages: int = 1
    schedule: Schedule = Schedule.ONE_F_ONE_B
    micro_batch: int = 1
    global_batch: int = 1
    seq: int = 2048
    zero: int = 0
    sequence_parallel: bool = False
    recompute: Recompute = Recompute.NONE
    recomputed_layers: int = 0
    precision: str = "bf16"
    attention: str = "flash"
    offload: str = "none"
    optimizer: str = "adam"
    framework: Framework = Framework.MEGATRON
    master_weights: bool = True
    reduce_each: bool = True
    expert_tp: int = 0
    grouped_dispatch: bool = False
    fp8_weights: bool = False
    lora: int = 0
    fused_loss: bool = False
    narrow_reduction: bool = False
    compiled: bool = True
    overlap: bool = True
    tp_overlap: bool = False
    ep_overlap: bool = False

    @property
    def devices(self) -> int:
        """How many devices it takes."""
        return self.tp * self.pp * self.dp * self.cp

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a replica per step."""
        return max(1, -(-self.global_batch // (self.dp * self.micro_batch)))

    @property
    def tokens(self) -> int:
        """Tokens of a micro-batch on a device, its part of the sequence only."""
        return self.micro_batch * self.seq // self.cp

    @property
    def sharded_over(self) -> int:
        """Ranks over which what ZeRO shards is sharded."""
        return min(self.shards, self.dp * self.cp) if self.shards else self.dp * self.cp

    @property
    def expert_split(self) -> int:
        """Ranks over which one expert is split."""
        return self.expert_tp or self.tp

    @property
    def expert_ranks(self) -> int:
        """Ranks among which a stage's experts can be spread."""
        return self.dp * self.cp * self.tp // self.expert_split

    @property
    def split(self) -> int:
        """Ranks over which norms and residuals are split, beside the sequence's own."""
        return self.tp if self.sequence_parallel else 1


def check(layout: Layout, layers: int, heads: int, experts: int, devices: int) -> tuple[str, ...]:
    """Refuse a layout that can't be built; say what of one that can is uneven.

    Raises:
        UserError: With what does not divide, and what would.
    """
    for name in ("tp", "pp", "dp", "cp", "ep", "virtual_stages", "micro_batch", "global_batch", "seq"):
        if getattr(layout, name) < 1:
            raise UserError(
                said("{replace} must be at least 1", replace=name.replace("_", " ")), hint="give a positive number"
            )
    if layout.devices != devices:
        given = f"tp {layout.tp} x pp {layout.pp} x dp {layout.dp} x cp {layout.cp}"
        raise UserError(
            said(
                "{given} is {devices}, not {devices2}",
                given=given,
                devices=plural(layout.devices, "device"),
                devices2=devices,
            ),
            hint="change one of them, or --devices",
        )
    if layout.pp * layout.virtual_stages > layers:
        stages = said("{pp} stages", pp=layout.pp)
        if layout.virtual_stages > 1:
            stages = said("{pp} stages of {chunks} chunks", pp=layout.pp, chunks=layout.virtual_stages)
        most = max(1, layers // layout.virtual_stages)
        raise UserError(
            said("{stages} need more than the model's {layers} layers", stages=stages, layers=layers),
            hint=said("give at most {most} to --pp", most=most),
        )
    if layout.tp > heads:
        raise UserError(
            said("tp {tp} is more than the model's {heads} heads", tp=layout.tp, heads=heads),
            hint="give a divisor of the heads",
        )
    if layout.ep > 1 and not experts:
        raise UserError("the model has no experts to split", hint="leave --ep out")
    if layout.ep > 1 and experts % layout.ep:
        raise UserError(
            said("{experts} experts can't be split over ep {ep}", experts=experts, ep=layout.ep),
            hint="choose a divisor of the experts",
        )
    if experts and (layout.dp * layout.cp * layout.tp) % layout.expert_split:
        ranks = layout.dp * layout.cp * layout.tp
        raise UserError(
            said(
                "an expert can't be split over {expert_split} of {ranks} ranks",
                expert_split=layout.expert_split,
                ranks=ranks,
            ),
            hint=said("choose a divisor of {ranks}", ranks=ranks),
        )
    if layout.ep > 1 and layout.expert_ranks % layout.ep:
        ranks = layout.expert_ranks
        raise UserError(
            said("ep {ep} does not divide the {ranks} replicas", ep=layout.ep, ranks=ranks),
            hint=said("choose a divisor of {ranks}", ranks=ranks),
        )
    if layout.seq % layout.cp:
        raise UserError(
            said("{seq} tokens can't be split over cp {cp}", seq=layout.seq, cp=layout.cp), hint="choose a divisor"
        )
    if layout.global_batch < layout.dp:
        raise UserError(
            said(
                "a global batch of {global_batch} leaves replicas of dp {dp} without a sequence",
                global_batch=layout.global_batch,
                dp=layout.dp,
            ),
            hint=said("give at least {dp} to --global-batch, or use fewer replicas", dp=layout.dp),
        )
    if layout.global_batch < layout.dp * layout.micro_batch:
        raise UserError(
            said(
                "a global batch of {global_batch} is less than micro-batches of {micro_batch} for each of dp {dp}",
                global_batch=layout.global_batch,
                micro_batch=layout.micro_batch,
                dp=layout.dp,
            ),
            hint="choose a larger global batch or smaller micro-batches",
        )
    return uneven(layout, layers, heads)


def uneven(layout: Layout, layers: int, heads: int) -> tuple[str, ...]:
    """What does not divide evenly, though it can be built in some way."""
    lines = []
    if layout.global_batch % (layout.dp * layout.micro_batch):
        step = layout.dp * layout.micro_batch
        lines.append(
            said(
                "a global batch of {global_batch} is no multiple of dp x micro-batch ({step})",
                global_batch=layout.global_batch,
                step=step,
            )
        )
    if heads % layout.tp:
        lines.append(said("{heads} heads do not divide among tp {tp}", heads=heads, tp=layout.tp))
    if layers % (layout.pp * layout.virtual_stages):
        lines.append(
            said(
                "{layers} layers do not divide among {pp} stages or chunks",
                layers=layers,
                pp=layout.pp * layout.virtual_stages,
            )
        )
    return tuple(lines)
