"""Named jobs."""

from __future__ import annotations

from stepscope.simulate.job import MIB, SimJob

PRESETS: dict[str, SimJob] = {
    job.name: job
    for job in (
        SimJob(name="tiny"),
        SimJob(name="transformer", layers=12, hidden=1024, heads=16, sequence=1024, batch=8, vocab=32_000, steps=5),
        SimJob(name="convnet", model="convnet", device="a100", layers=8, hidden=64, image=112, batch=64),
        SimJob(name="ddp", ranks=4, layers=8, hidden=1024, heads=16, sequence=512, vocab=8_000, link_bandwidth=80e9),
        SimJob(
            name="multi-host",
            ranks=8,
            ranks_per_host=4,
            layers=6,
            hidden=1024,
            heads=16,
            sequence=512,
            vocab=8_000,
            clock_offset_ns=1_700_000,
        ),
        SimJob(name="fsdp", ranks=4, parallel="fsdp", layers=8, hidden=1024, heads=16, sequence=512, vocab=8_000),
        SimJob(name="graph", graph=True, layers=12, hidden=512, heads=8, optimizer_impl="fused"),
        SimJob(name="loader-bound", workers=2, load_ns=40_000_000, layers=6, hidden=512),
        SimJob(name="host-bound", layers=12, hidden=128, heads=4, sequence=32, python_ns=20_000),
        SimJob(name="inference", training=False, layers=12, hidden=768, heads=12, sequence=256),
        SimJob(name="checkpointed", recompute=True, layers=8, hidden=2048, heads=16, sequence=2048, batch=4),
        SimJob(name="memory-churn", sequence_cycle=3, empty_cache=True, layers=4, hidden=1024, sequence=1024),
        SimJob(name="amd", device="mi300x", ranks=2, layers=6, hidden=1024, heads=16, bucket_bytes=8 * MIB),
        SimJob(name="stacks", with_stack=True, gc_interval_ops=900, gc_pause_ns=6_000_000),
    )
}
