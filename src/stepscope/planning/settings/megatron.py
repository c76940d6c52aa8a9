"""Arguments of Megatron-LM, and of MindSpeed, which adds its own."""

from __future__ import annotations

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Layout, Recompute
from stepscope.planning.stages import stages


def arguments(shape: ModelShape, layout: Layout) -> str:
    """Command-line arguments of Megatron-LM, one per line."""
    said = [
        f"--tensor-model-parallel-size {layout.tp}",
        f"--pipeline-model-parallel-size {layout.pp}",
        f"--micro-batch-size {layout.micro_batch}",
        f"--global-batch-size {layout.global_batch}",
        f"--seq-length {layout.seq}",
        f"--max-position-embeddings {max(layout.seq, shape.positions)}",
        *_model(shape),
    ]
    if layout.sequence_parallel:
        said.append("--sequence-parallel")
    if layout.cp > 1:
        said.append(f"--context-parallel-size {layout.cp}")
    if layout.ep > 1:
        said.append(f"--expert-model-parallel-size {layout.ep}")
        if layout.expert_split != layout.tp:
            said.append(f"--expert-tensor-parallel-size {layout.expert_split}")
        if layout.grouped_dispatch:
            said += ["--moe-token-dispatcher-type flex", "--moe-enable-deepep"]
        else:
            said.append("--moe-token-dispatcher-type alltoall")
    if layout.virtual_stages > 1:
        chunk = max(1, shape.layers // (layout.pp * layout.virtual_stages))
        if shape.layers % (layout.pp * layout.virtual_stages) == 0:
            said.append(f"--num-layers-per-virtual-pipeline-stage {chunk}")
    said += _uneven(shape, layout)
    if layout.zero >= 3:
        said += ["--use-torch-fsdp2"]
    elif layout.zero >= 1:
        said += ["--use-distributed-optimizer"]
        if layout.overlap:
            said += ["--overlap-grad-reduce", "--overlap-param-gather"]
    said += ["--grad-reduce-in-bf16"] if layout.narrow_reduction else []
    said += ["--cross-entropy-loss-fusion"] if layout.fused_loss else []
    said += _recomputation(shape, layout)
    said.append({"bf16": "--bf16", "fp16": "--fp16", "fp8": "--bf16 --fp8-format hybrid"}.get(layout.precision, ""))
    if layout.attention != "unfused":
        said.append("--use-flash-attn" if layout.attention == "flash" else "--attention-backend fused")
    if layout.offload != "none":
        said.append("--optimizer-cpu-offload")
    return "\n".join(one for one in said if one)


def mindspeed(shape: ModelShape, layout: Layout) -> str:
    """The same for Ascend: MindSpeed takes Megatron's arguments, and has some for its own kernels and collectives."""
    lines = arguments(shape, layout).replace("--attention-backend fused", "--use-flash-attn").splitlines()
    lines += ["--use-fused-rmsnorm", "--use-fused-swiglu"] if shape.gated else []
    if layout.tp > 1 and layout.sequence_parallel:
        lines.append("--use-ascend-coc")
    if layout.cp > 1:
        lines.append("--context-parallel-algo megatron_cp_algo")
    buffer = max(200, -(-2 * layout.tokens * shape.hidden // 10**6))
    return "\n".join([f"export HCCL_BUFFSIZE={buffer}", *lines])


def _uneven(shape: ModelShape, layout: Layout) -> list[str]:
    """What cuts layers that do not divide: a layout of embedding (E), layers (t) and loss (L), chunk by chunk."""
    chunks = layout.pp * layout.virtual_stages
    if layout.pp == 1 or shape.layers % chunks == 0:
        return []
    sizes = [stage.layers for stage in stages(shape, chunks, 1)]
    text = "|".join("t" * size for size in sizes)
    return [f"--pipeline-model-parallel-layout 'E{text}L'"]


def _model(shape: ModelShape) -> list[str]:
    said = [
        f"--num-layers {shape.layers}",
        f"--hidden-size {shape.hidden}",
        f"--num-attention-heads {shape.heads}",
        f"--ffn-hidden-size {shape.ffn}",
    ]
    if shape.kv_heads != shape.heads:
        said += ["--group-query-attention", f"--num-query-groups {shape.kv_heads}"]
    if shape.gated:
        said.append("--swiglu")
    if not shape.layer_norm:
        said.append("--normalization RMSNorm")
    if not shape.tied:
        said.append("--untie-embeddings-and-output-weights")
    if shape.rotary:
        said.append("--position-embedding-type rope")
    if not shape.biases:
        said.append("--disable-bias-linear")
    if not shape.latent and shape.head_dim * shape.heads != shape.hidden:
        said.append(f"--kv-channels {shape.head_dim}")
    return [*said, *_experts(shape), *_latent(shape)]


def _experts(shape: ModelShape) -> list[str]:
    if not shape.experts:
        return []
    said = [f"--num-experts {shape.experts}", f"--moe-router-topk {shape.active_experts}",
            f"--moe-ffn-hidden-size {shape.expert_ffn}", "--moe-grouped-gemm"]  # fmt: skip
    if shape.shared_ffn:
        said.append(f"--moe-shared-expert-intermediate-size {shape.shared_ffn}")
    if shape.dense_layers:
        said.append(f"--moe-layer-freq '([0]*{shape.dense_layers}+[1]*{shape.moe_layers})'")
    return said


def _latent(shape: ModelShape) -> list[str]:
    one = shape.latent
    if one is None:
        return []
    query = [f"--q-lora-rank {one.query_rank}"] if one.query_rank else []
    return ["--multi-latent-attention", *query, f"--kv-lora-rank {one.kv_rank}", f"--qk-head-dim {one.nope}",
            f"--qk-pos-emb-head-dim {one.rope}", f"--v-head-dim {one.value}"]  # fmt: skip


def _recomputation(shape: ModelShape, layout: Layout) -> list[str]:
    if layout.recompute is Recompute.FULL:
        return ["--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 1"]
    if layout.recompute is Recompute.LAYERS:
        stage = layout.pp * layout.virtual_stages
        number = max(1, round(layout.recomputed_layers / stage))
        return ["--recompute-granularity full", "--recompute-method block", f"--recompute-num-layers {number}"]
    if layout.recompute in (Recompute.SELECTIVE, Recompute.OPERATORS):
        return ["--recompute-granularity selective"]
    if layout.recompute is Recompute.EXPERTS:
        modules = ["layernorm", "moe", *(["mla_up_proj"] if shape.latent else [])]
        return ["--recompute-granularity selective", f"--recompute-modules {' '.join(modules)}"]
    if layout.recompute is Recompute.MODULES:
        modules = ["layernorm", *(["moe_act"] if shape.experts else []), *(["mla_up_proj"] if shape.latent else [])]
        return ["--recompute-granularity selective", f"--recompute-modules {' '.join(modules)}"]
    return []
