"""A torchtitan configuration."""

from __future__ import annotations

from stepscope.planning.layout import Layout, Recompute, Schedule


def toml(layout: Layout) -> str:
    """The sections of torchtitan's TOML that a plan decides."""
    local = max(1, layout.global_batch // layout.dp)
    schedule = {
        Schedule.ONE_F_ONE_B: "1F1B", Schedule.INTERLEAVED: "Interleaved1F1B", Schedule.GPIPE: "GPipe",
        Schedule.ZERO_BUBBLE: "InterleavedZeroBubble", Schedule.DUAL_PIPE: "DualPipeV",
    }[layout.schedule]  # fmt: skip
    mode = {Recompute.NONE: "none", Recompute.FULL: "full"}.get(layout.recompute, "selective")
    option = "op"
    if layout.recompute is Recompute.LAYERS:
        option = "2"
    sharded = layout.dp if layout.zero >= 2 else 1
    replicated = layout.dp // sharded
    lines = [
        "[training]",
        f"local_batch_size = {local if layout.pp > 1 else layout.micro_batch}",
        f"global_batch_size = {layout.global_batch}",
        f"seq_len = {layout.seq}",
        "",
        "[parallelism]",
        f"data_parallel_shard_degree = {sharded}",
        f"data_parallel_replicate_degree = {replicated}",
        f"tensor_parallel_degree = {layout.tp}",
        f"pipeline_parallel_degree = {layout.pp}",
        f"context_parallel_degree = {layout.cp}",
    ]
    if layout.ep > 1:
        lines.append(f"expert_parallel_degree = {layout.ep}")
    if layout.zero == 2:
        lines.append('fsdp_reshard_after_forward = "never"')
    if layout.pp > 1:
        lines += [
            f'pipeline_parallel_schedule = "{schedule}"',
            f"pipeline_parallel_microbatch_size = {layout.micro_batch}",
        ]
    lines += ["", "[activation_checkpoint]", f'mode = "{mode}"']
    if mode == "selective":
        lines.append(f'selective_ac_option = "{option}"')
    lines += ["", "[compile]", f"enable = {str(layout.compiled).lower()}"]
    if layout.fused_loss and layout.compiled:
        lines.append('components = ["model", "loss"]')
    if layout.precision == "fp8":
        lines += ["", "[model]", 'converters = ["float8"]']
    return "\n".join(lines)
