"""Random jobs of realistic shape: bound by device, host, loader or links, on one rank or several."""

from __future__ import annotations

from random import Random

from stepscope.simulate import SimJob


def family(seed: int) -> SimJob:
    """A job of some hundred to some thousand kernels; the same seed always gives the same job."""
    rng = Random(seed * 7919 + 17)
    pick, chance = rng.choice, rng.random
    model = pick(("transformer", "transformer", "convnet", "mlp"))
    ranks = pick((1, 1, 2, 4))
    graph = chance() < 0.08
    workers = pick((0, 2, 4, 4))
    load = pick((50_000, 50_000, 100_000, 40_000_000) if workers else (300_000, 1_500_000, 8_000_000))
    return SimJob(
        name=f"whatif-{seed}",
        model=model,
        layers=rng.randint(2, 6) if model != "convnet" else rng.randint(1, 3),
        hidden=pick((128, 512, 1024)) if model != "convnet" else pick((16, 64)),
        heads=8,
        sequence=pick((128, 512, 1024)),
        image=pick((32, 64)),
        vocab=pick((1000, 8000)),
        batch=pick((4, 16, 64)),
        dtype=pick(("bf16", "bf16", "fp32")),
        training=chance() < 0.9,
        attention=pick(("flash", "math")),
        elementwise_split=pick((1, 1, 2)),
        recompute=chance() < 0.1,
        optimizer=pick(("adamw", "sgd")),
        optimizer_impl=pick(("fused", "foreach", "foreach", "loop")),
        graph=graph,
        device=pick(("v100", "a100", "h100", "b200", "mi300x")),
        compute_scale=pick((1.0, 1.0, 3.0)),
        queue_depth=pick((1024, 1024, 64)),
        python_ns=pick((2_000, 5_000, 15_000)),
        workers=workers,
        prefetch=2,
        # A recording does not show how much faster a loader could be that keeps up: so it is far from its limit here.
        load_ns=load,
        load_jitter=pick((0.0, 0.0, 0.3)) if ranks == 1 else 0.0,
        pinned=chance() < 0.6,
        copy_stream=chance() < 0.2,
        items_per_step=pick((0, 0, 0, 1, 4)),
        sync_every_op=chance() < 0.05,
        sync_each_step=chance() < 0.2,
        empty_cache=chance() < 0.1,
        gc_interval_ops=pick((0, 0, 900)),
        gc_pause_ns=3_000_000,
        ranks=ranks,
        ranks_per_host=pick((2, 8)),
        parallel="ddp" if graph else pick(("ddp", "ddp", "fsdp")),
        bucket_bytes=pick((1 << 20, 8 << 20, 25 << 20)),
        overlap_comm=chance() < 0.7,
        link_bandwidth=pick((10e9, 50e9, 200e9)),
        network_bandwidth=pick((5e9, 20e9)),
        slow_rank=pick((-1, -1, -1, 0)),
        slow_factor=1.3,
        # Workers deliver in bursts of as many batches as there are workers: whole periods of that.
        steps=12 if load > 10_000_000 else 6,
        warmup_steps=2,
        with_stack=chance() < 0.5,
        record_shapes=False,
        profile_memory=False,
        record_calls=chance() < 0.5,
        buffer_flush_ops=pick((0, 0, 400)),
        seed=seed,
        noise=pick((0.0, 0.05, 0.2)),
        noise_seed=seed + 1,
    )
