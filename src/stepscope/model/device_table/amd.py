"""AMD devices. Matrix rates are dense, without sparsity; an MI250's two dies are two devices, so rows are per die."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.model.device_table.device import GB, GIB, NOTHING, Device, named, tera

# Most resident threads per CU, as HIP reports them.
_CU_THREADS = 2048


def _gpu(
    name: str,
    pattern: str,
    memory: tuple[int, float, int],
    rates: tuple[Mapping[str, int], Mapping[str, int]],
    rest: tuple[float | None, str],
) -> Device:
    """A row: memory is (GiB, GB/s, CUs), rates are (vector, matrix), rest is (link GB/s, source)."""
    size, bandwidth, units = memory
    link, source = rest
    return Device(
        name=name,
        vendor="amd",
        pattern=named(pattern),
        memory_bytes=size * GIB,
        memory_bandwidth=round(bandwidth * GB),
        units=units,
        vector=rates[0],
        matrix=rates[1],
        max_threads=_CU_THREADS,
        warp_size=64,
        link_bandwidth=None if link is None else round(link * GB),
        source=source,
    )


_CDNA3 = (
    tera(fp64=81.7, fp32=163.4),
    tera(fp64=163.4, fp32=163.4, tf32=653.7, fp16=1307.4, bf16=1307.4, fp8=2614.9, int8=2614.9),
)

AMD: tuple[Device, ...] = (
    _gpu(
        "MI100",
        r"MI100",
        (32, 1228.8, 120),
        (tera(fp64=11.5, fp32=23.1), tera(fp32=46.1, fp16=184.6, bf16=92.3, int8=184.6)),
        (276, "AMD Instinct MI100 Accelerator datasheet, 2020"),
    ),
    _gpu(
        "MI210",
        r"MI210",
        (64, 1638.4, 104),
        (tera(fp64=22.6, fp32=22.6), tera(fp64=45.3, fp32=45.3, fp16=181, bf16=181, int8=181)),
        (300, "AMD Instinct MI210 Accelerator datasheet, 2022"),
    ),
    # ROCm writes "MI250X/MI250" for both; the higher rates keep a share of the peak from being overstated.
    _gpu(
        "MI250X (one die)",
        r"MI250X",
        (64, 1638.4, 110),
        (tera(fp64=23.9, fp32=23.9), tera(fp64=47.9, fp32=47.9, fp16=191.5, bf16=191.5, int8=191.5)),
        (None, "AMD Instinct MI250X Accelerator datasheet, 2022, half of the module"),
    ),
    _gpu(
        "MI250 (one die)",
        r"MI250",
        (64, 1638.4, 104),
        (tera(fp64=22.6, fp32=22.6), tera(fp64=45.3, fp32=45.3, fp16=181, bf16=181, int8=181)),
        (None, "AMD Instinct MI250 Accelerator datasheet, 2022, half of the module"),
    ),
    _gpu(
        "MI300A",
        r"MI300A",
        (128, 5300, 228),
        (
            tera(fp64=61.3, fp32=122.6),
            tera(fp64=122.6, fp32=122.6, tf32=490.3, fp16=980.6, bf16=980.6, fp8=1961.2, int8=1961.2),
        ),
        (None, "AMD Instinct MI300A APU datasheet, 2023"),
    ),
    _gpu("MI300X", r"MI300X", (192, 5300, 304), _CDNA3, (896, "AMD Instinct MI300X Accelerator datasheet, 2023")),
    _gpu("MI325X", r"MI325X", (256, 6000, 304), _CDNA3, (896, "AMD Instinct MI325X Accelerator datasheet, 2024")),
    _gpu(
        "MI308X",
        r"MI308X",
        (192, 5300, 80),
        (NOTHING, NOTHING),
        (None, "AMD publishes no rates for the MI308X; memory and CUs as its driver reports them"),
    ),
    _gpu(
        "MI350X",
        r"MI350X",
        (288, 8000, 256),
        (
            tera(fp64=72.1, fp32=144.2),
            tera(fp64=72.1, fp32=144.2, fp16=2306.9, bf16=2306.9, fp8=4613.7, int8=4613.7, fp4=9227.5),
        ),
        (1075.2, "AMD Instinct MI350X GPU datasheet, 2025"),
    ),
    _gpu(
        "MI355X",
        r"MI355X",
        (288, 8000, 256),
        (
            tera(fp64=78.6, fp32=157.3),
            tera(fp64=78.6, fp32=157.3, fp16=2516.6, bf16=2516.6, fp8=5033.2, int8=5033.2, fp4=10066.3),
        ),
        (1075.2, "AMD Instinct MI355X GPU datasheet, 2025"),
    ),
)
