"""Small, diverse jobs for property tests."""

from __future__ import annotations

from random import Random

from stepscope.simulate.devices import GPUS
from stepscope.simulate.job import SimJob


def random_job(seed: int) -> SimJob:
    """A job of a few hundred to a few thousand events; the same seed always gives the same job."""
    rng = Random(seed)
    pick = rng.choice
    model = pick(("mlp", "mlp", "transformer", "convnet"))
    often = rng.random
    graph = often() < 0.15
    return SimJob(
        name=f"random-{seed}",
        model=model,
        layers=rng.randint(1, 3 if model == "mlp" else 1),
        hidden=pick((16, 64, 256, 1024)) if model != "convnet" else pick((8, 16)),
        heads=pick((1, 4)),
        sequence=pick((16, 128, 512)),
        sequence_cycle=pick((1, 1, 1, 2)),
        image=pick((16, 32)),
        vocab=pick((10, 1000)),
        batch=pick((1, 8, 64)),
        dtype=pick(("bf16", "fp16", "fp32")),
        training=often() < 0.8,
        attention=pick(("flash", "math")),
        elementwise_split=pick((1, 1, 2)),
        recompute=often() < 0.1,
        optimizer=pick(("adamw", "sgd")),
        optimizer_impl=pick(("fused", "foreach", "foreach", "loop")),
        graph=graph,
        device=pick(GPUS),
        compute_scale=pick((1.0, 1.0, 10.0, 100.0)),
        kernel_gap_ns=pick((0, 700)),
        queue_depth=pick((1024, 1024, 16)),
        python_ns=pick((500, 5_000, 20_000)),
        workers=pick((0, 1, 4)),
        prefetch=pick((1, 2)),
        load_ns=pick((50_000, 1_500_000, 5_000_000)),
        load_jitter=pick((0.0, 0.5)),
        pinned=often() < 0.7,
        copy_stream=often() < 0.2,
        items_per_step=pick((0, 0, 0, 2)),
        sync_every_op=often() < 0.05,
        sync_each_step=often() < 0.2,
        empty_cache=often() < 0.1,
        leak_bytes=pick((0, 0, 0, 3_000_000)),
        gc_interval_ops=pick((0, 0, 0, 60)),
        gc_pause_ns=700_000,
        ranks=pick((1, 1, 1, 2)),
        ranks_per_host=pick((1, 8)),
        parallel="ddp" if graph else pick(("ddp", "ddp", "fsdp")),
        bucket_bytes=pick((4096, 1 << 20)),
        overlap_comm=often() < 0.7,
        slow_rank=pick((-1, -1, 0)),
        clock_offset_ns=pick((0, 250_000, -40_000)),
        steps=rng.randint(1, 2),
        warmup_steps=pick((0, 1)),
        with_stack=often() < 0.2,
        record_shapes=often() < 0.7,
        profile_memory=often() < 0.5,
        record_calls=often() < 0.5,
        buffer_flush_ops=pick((0, 0, 40)),
        buffer_flush_ns=90_000,
        seed=seed,
        noise=pick((0.0, 0.05, 0.3)),
        noise_seed=seed + 1,
    )
