"""Python code of FSDP2 (`torch.distributed.fsdp.fully_shard`)."""

from __future__ import annotations

from stepscope.planning.layout import Layout, Recompute


def code(layout: Layout) -> str:
    """Lines that shard `model`, whose layers are `model.layers`, over a device mesh."""
    replicas = layout.dp * layout.cp
    shards = layout.sharded_over
    names, sizes = ['"shard"'], [str(shards)]
    if shards < replicas:
        names, sizes = ['"replicate"', *names], [str(replicas // shards), *sizes]
    if layout.tp > 1:
        names, sizes = [*names, '"tensor"'], [*sizes, str(layout.tp)]
    dtype = "torch.float16" if layout.precision == "fp16" else "torch.bfloat16"
    reduced = dtype if layout.narrow_reduction else "torch.float32"
    reshard = "True" if layout.zero == 3 else "False"
    axes = names[:-1] if layout.tp > 1 else names
    chosen = axes[0] if len(axes) == 1 else ", ".join(axes)
    lines = [
        "import torch",
        "from torch.distributed.device_mesh import init_device_mesh",
        "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard",
        "",
        f'mesh = init_device_mesh("cuda", ({", ".join(sizes)},), mesh_dim_names=({", ".join(names)},))',
    ]
    if layout.recompute is not Recompute.NONE:
        every = f"[:{layout.recomputed_layers}]" if layout.recompute is Recompute.LAYERS else ""
        lines += [
            "from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper",
            f"for number, layer in enumerate(model.layers{every}):",
            "    model.layers[number] = checkpoint_wrapper(layer)",
        ]
    lines += [
        f"policy = MixedPrecisionPolicy(param_dtype={dtype}, reduce_dtype={reduced})",
        "for layer in model.layers:",
        *(["    layer.compile()"] if layout.compiled else []),
        f"    fully_shard(layer, mesh=mesh[{chosen}], mp_policy=policy, reshard_after_forward={reshard})",
        f"fully_shard(model, mesh=mesh[{chosen}], mp_policy=policy)",
    ]
    lines.append(f"# batch per device: {layout.micro_batch}, accumulated {layout.micro_batches} times")
    return "\n".join(lines)
