"""Accelerators of other makers."""

from __future__ import annotations

from stepscope.model.device_table.device import GB, GIB, NOTHING, Device, named, tera

OTHERS: tuple[Device, ...] = (
    Device(
        name="Gaudi 3",
        vendor="intel",
        pattern=named(r"gaudi 3|HL 325|HL 338"),
        memory_bytes=128 * GIB,
        memory_bandwidth=3670 * GB,
        units=64,
        vector=tera(bf16=28.7),
        matrix=tera(bf16=1835, fp8=1835),
        max_threads=None,
        warp_size=None,
        link_bandwidth=1200 * GB,
        source="Intel Gaudi 3 AI Accelerator, Hot Chips 2024",
    ),
    Device(
        name="Gaudi 2",
        vendor="intel",
        pattern=named(r"gaudi 2|HL 225"),
        memory_bytes=96 * GIB,
        memory_bandwidth=2460 * GB,
        units=24,
        vector=NOTHING,
        matrix=tera(bf16=432, fp8=865),
        max_threads=None,
        warp_size=None,
        link_bandwidth=600 * GB,
        source="Intel Gaudi 3 AI Accelerator white paper (comparison with Gaudi 2), 2024",
    ),
    Device(
        name="MTIA 2i",
        vendor="meta",
        pattern=named(r"\bARTEMIS\b|MTIA (?:v2|2i)"),
        memory_bytes=128 * GIB,
        memory_bandwidth=204_800_000_000,
        units=64,
        vector=NOTHING,
        matrix=tera(fp16=177, bf16=177, int8=354),
        max_threads=None,
        warp_size=None,
        link_bandwidth=None,
        source="Meta, Our next-generation Meta Training and Inference Accelerator, 2024",
    ),
)
