"""NVIDIA devices. Tensor rates are dense, without sparsity, with fp32 accumulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stepscope.model.device_table.device import GB, GIB, NOTHING, Device, named, tera

# Most resident threads per SM, by compute capability (CUDA C++ Programming Guide, table of technical specifications).
_SM_2048, _SM_1536, _SM_1024 = 2048, 1536, 1024


def _gpu(
    name: str,
    pattern: str,
    memory: tuple[int, float | None, int | None],
    rates: tuple[Mapping[str, int], Mapping[str, int]],
    rest: tuple[int, int | None, str],
) -> Device:
    """A row: memory is (GiB, GB/s, SMs), rates are (vector, matrix), rest is (threads, link GB/s, source)."""
    size, bandwidth, sms = memory
    threads, link, source = rest
    return Device(
        name=name,
        vendor="nvidia",
        pattern=named(pattern),
        memory_bytes=size * GIB,
        memory_bandwidth=None if bandwidth is None else round(bandwidth * GB),
        units=sms,
        vector=rates[0],
        matrix=rates[1],
        max_threads=threads,
        warp_size=32,
        link_bandwidth=None if link is None else link * GB,
        source=source,
    )


_VOLTA = "NVIDIA V100 Tensor Core GPU datasheet, 2020; NVIDIA Tesla V100 GPU Architecture whitepaper, 2017"
_V100_SXM = (tera(fp64=7.8, fp32=15.7, fp16=31.4), tera(fp16=125))
_V100_PCIE = (tera(fp64=7, fp32=14, fp16=28), tera(fp16=112))
_TURING = "NVIDIA Turing GPU Architecture whitepaper, 2018"
_A100_SOURCE = "NVIDIA A100 Tensor Core GPU datasheet, 2021; A100 Tensor Core GPU Architecture whitepaper, 2020"
_A100 = (
    tera(fp64=9.7, fp32=19.5, fp16=78, bf16=39),
    tera(fp64=19.5, tf32=156, fp16=312, bf16=312, int8=624),
)
_H100_SOURCE = "NVIDIA H100 Tensor Core GPU datasheet, 2024; H100 Tensor Core GPU Architecture whitepaper, 2022"
_H100_SXM = (
    tera(fp64=33.5, fp32=66.9, fp16=133.8, bf16=133.8),
    tera(fp64=66.9, tf32=494.7, fp16=989.4, bf16=989.4, fp8=1978.9, int8=1978.9),
)
_H100_NVL = (
    tera(fp64=30, fp32=60),
    tera(fp64=60, tf32=417.5, fp16=835.5, bf16=835.5, fp8=1670.5, int8=1670.5),
)
_H200_SOURCE = "NVIDIA H200 Tensor Core GPU datasheet, 2024"
_GA102 = "NVIDIA Ampere GA102 GPU Architecture whitepaper, 2021"
_BLACKWELL = "NVIDIA Blackwell Architecture Technical Brief, 2024; NVIDIA HGX Platform datasheet, 2025"

_DATACENTRE: tuple[Device, ...] = (
    _gpu(
        "V100S-PCIE-32GB",
        "V100S",
        (32, 1134, 80),
        (tera(fp64=8.2, fp32=16.4), tera(fp16=130)),
        (_SM_2048, None, _VOLTA),
    ),
    _gpu("V100-SXM2-32GB", r"V100 (?:SXM\d|DGXS|FHHL-SXM) 32GB", (32, 900, 80), _V100_SXM, (_SM_2048, 300, _VOLTA)),
    _gpu("V100-SXM2-16GB", r"V100 (?:SXM\d|DGXS)", (16, 900, 80), _V100_SXM, (_SM_2048, 300, _VOLTA)),
    _gpu("V100-PCIE-32GB", r"V100 PCIE 32GB", (32, 900, 80), _V100_PCIE, (_SM_2048, None, _VOLTA)),
    _gpu("V100-PCIE-16GB", r"V100 PCIE", (16, 900, 80), _V100_PCIE, (_SM_2048, None, _VOLTA)),
    _gpu(
        "T4",
        r"\bT4\b",
        (16, 320, 40),
        (tera(fp32=8.1), tera(fp16=65, int8=130)),
        (_SM_1024, None, "NVIDIA T4 datasheet, 2019"),
    ),
    _gpu(
        "A10G",
        r"\bA10G\b",
        (24, 600, 80),
        (tera(fp32=35), tera(tf32=35, fp16=70, bf16=70, int8=140)),
        (_SM_1536, None, "NVIDIA A10G datasheet, 2022"),
    ),
    _gpu(
        "A10",
        r"\bA10\b",
        (24, 600, 72),
        (tera(fp32=31.2), tera(tf32=62.5, fp16=125, bf16=125, int8=250)),
        (_SM_1536, None, "NVIDIA A10 Tensor Core GPU datasheet, 2021"),
    ),
    _gpu(
        "A30",
        r"\bA30\b",
        (24, 933, 56),
        (tera(fp64=5.2, fp32=10.3), tera(fp64=10.3, tf32=82, fp16=165, bf16=165, int8=330)),
        (_SM_2048, 200, "NVIDIA A30 Tensor Core GPU datasheet, 2022"),
    ),
    _gpu(
        "A40",
        r"\bA40\b",
        (48, 696, 84),
        (tera(fp32=37.4), tera(tf32=74.8, fp16=149.7, bf16=149.7, int8=299.3)),
        (_SM_1536, 112, "NVIDIA A40 datasheet, 2021"),
    ),
    _gpu("A100-SXM4-80GB", r"A100 SXM\d? 80GB", (80, 2039, 108), _A100, (_SM_2048, 600, _A100_SOURCE)),
    _gpu("A100-PCIE-80GB", r"A100 (?:80GB PCIe|PCIE 80GB)", (80, 1935, 108), _A100, (_SM_2048, 600, _A100_SOURCE)),
    # PG506 and PG509 are the board numbers under which some fleets record the 40 GB SXM module.
    _gpu("A100-SXM4-40GB", r"A100 (?:SXM\d?|PG50\d)", (40, 1555, 108), _A100, (_SM_2048, 600, _A100_SOURCE)),
    _gpu("A100-PCIE-40GB", r"A100 PCIE", (40, 1555, 108), _A100, (_SM_2048, 600, _A100_SOURCE)),
    _gpu("A800-SXM4-80GB", r"A800 SXM\d? 80GB", (80, 2039, 108), _A100, (_SM_2048, 400, "NVIDIA A800 datasheet, 2022")),
    _gpu(
        "A800-PCIE-80GB",
        r"A800 (?:80GB PCIe|PCIE 80GB)",
        (80, 1935, 108),
        _A100,
        (_SM_2048, 400, "NVIDIA A800 datasheet, 2022"),
    ),
    _gpu("GH200-144GB", r"GH200 144G", (144, 4900, 132), _H100_SXM, (_SM_2048, 900, "NVIDIA GH200 datasheet, 2024")),
    _gpu("GH200-96GB", r"GH200", (96, 4000, 132), _H100_SXM, (_SM_2048, 900, "NVIDIA GH200 datasheet, 2024")),
    _gpu("H100-NVL", r"H100 NVL", (94, 3900, 132), _H100_NVL, (_SM_2048, 600, _H100_SOURCE)),
    _gpu(
        "H100-PCIE-80GB",
        r"H100 (?:80GB )?PCIe",
        (80, 2000, 114),
        (
            tera(fp64=25.6, fp32=51.2, fp16=102.4, bf16=102.4),
            tera(fp64=51.2, tf32=378, fp16=756, bf16=756, fp8=1513, int8=1513),
        ),
        (_SM_2048, 600, "NVIDIA H100 Tensor Core GPU Architecture whitepaper, 2022"),
    ),
    _gpu(
        "H100-SXM5-80GB",
        r"H100 (?:80GB HBM3|SXM\d?|SXM5 80GB)",
        (80, 3350, 132),
        _H100_SXM,
        (_SM_2048, 900, _H100_SOURCE),
    ),
    _gpu("H200-NVL", r"H200 NVL", (141, 4800, 132), _H100_NVL, (_SM_2048, 900, _H200_SOURCE)),
    _gpu("H200-SXM-141GB", r"H200", (141, 4800, 132), _H100_SXM, (_SM_2048, 900, _H200_SOURCE)),
    _gpu(
        "H20",
        r"\bH20\b",
        (96, 4000, 78),
        (tera(fp64=1, fp32=44), tera(fp64=1, tf32=74, fp16=148, bf16=148, fp8=296, int8=296)),
        (_SM_2048, 900, "NVIDIA H20 GPU specifications, 2023"),
    ),
)

# The same chip as the H100 SXM with less fp64 arithmetic, for which no figure is published, and slower links.
_H100 = next(device for device in _DATACENTRE if device.name == "H100-SXM5-80GB")
_H800 = replace(
    _H100,
    name="H800-SXM5-80GB",
    pattern=named(r"H800(?! ?PCIe| ?80GB PCIe)"),
    vector=tera(fp32=66.9, fp16=133.8, bf16=133.8),
    matrix=tera(tf32=494.7, fp16=989.4, bf16=989.4, fp8=1978.9, int8=1978.9),
    link_bandwidth=400 * GB,
    source=f"{_H100_SOURCE}; NVLink of the H800 at 400 GB/s, 2023",
)

_BLACKWELLS: tuple[Device, ...] = (
    _gpu(
        "GB300",
        r"GB300",
        (288, 8000, None),
        (NOTHING, tera(tf32=1250, fp16=2500, bf16=2500, fp8=5000)),
        (_SM_2048, 1800, "NVIDIA GB300 NVL72 datasheet, 2025, per GPU"),
    ),
    _gpu(
        "GB200",
        r"GB200",
        (186, 8000, None),
        (
            tera(fp64=40, fp32=80),
            tera(fp64=40, tf32=1250, fp16=2500, bf16=2500, fp8=5000, int8=5000, fp4=10000),
        ),
        (_SM_2048, 1800, "NVIDIA GB200 NVL72 datasheet, 2024, per GPU"),
    ),
    _gpu(
        "B300",
        r"\bB300\b",
        (288, 8000, None),
        (tera(fp64=1.25, fp32=75), tera(fp64=1.25, tf32=1125, fp16=2250, bf16=2250, fp8=4500)),
        (_SM_2048, 1800, "NVIDIA HGX Platform datasheet, 2025, per GPU"),
    ),
    _gpu(
        "B200",
        r"\bB200\b",
        (180, 7700, 148),
        (
            tera(fp64=37, fp32=75),
            tera(fp64=37, tf32=1125, fp16=2250, bf16=2250, fp8=4500, int8=4500, fp4=9000),
        ),
        (_SM_2048, 1800, _BLACKWELL),
    ),
    _gpu(
        "B100",
        r"\bB100\b",
        (192, 8000, None),
        (
            tera(fp64=30, fp32=60),
            tera(fp64=30, tf32=900, fp16=1800, bf16=1800, fp8=3500, int8=3500, fp4=7000),
        ),
        (_SM_2048, 1800, _BLACKWELL),
    ),
)

_ADA = "NVIDIA Ada GPU Architecture whitepaper, 2023"
_WORKSTATION: tuple[Device, ...] = (
    _gpu(
        "L4",
        r"\bL4\b",
        (24, 300, 58),
        (tera(fp32=30.3), tera(tf32=60, fp16=121, bf16=121, fp8=242.5, int8=242.5)),
        (_SM_1536, None, "NVIDIA L4 Tensor Core GPU datasheet, 2023"),
    ),
    _gpu(
        "L40S",
        r"\bL40S\b",
        (48, 864, 142),
        (tera(fp32=91.6), tera(tf32=183, fp16=362.05, bf16=362.05, fp8=733, int8=733)),
        (_SM_1536, None, "NVIDIA L40S datasheet, 2023"),
    ),
    _gpu(
        "L40",
        r"\bL40\b",
        (48, 864, 142),
        (tera(fp32=90.5), tera(tf32=90.5, fp16=181.05, bf16=181.05, fp8=362, int8=362)),
        (_SM_1536, None, "NVIDIA L40 datasheet, 2023"),
    ),
    _gpu(
        "RTX 6000 Ada",
        r"RTX 6000 Ada",
        (48, 960, 142),
        (tera(fp32=91.1), tera(tf32=182.1, fp16=364.2, bf16=364.2, fp8=728.5, int8=728.5)),
        (_SM_1536, None, _ADA),
    ),
    _gpu(
        "Quadro RTX 6000",
        r"Quadro RTX 6000",
        (24, 672, 72),
        (tera(fp32=16.3, fp16=32.6), tera(fp16=130.5, int8=261)),
        (_SM_1024, 100, _TURING),
    ),
    _gpu(
        "RTX 3090",
        r"RTX 3090(?! ?Ti)",
        (24, 936, 82),
        (tera(fp32=35.6, fp16=35.6), tera(tf32=35.6, fp16=71, bf16=71, int8=284)),
        (_SM_1536, 112, "NVIDIA Ampere GA102 GPU Architecture whitepaper, 2021"),
    ),
    _gpu(
        "RTX A6000",
        r"RTX A6000(?! ?(?:Laptop|Max|\d))",
        (48, 768, 84),
        (tera(fp32=38.7, fp16=38.7), tera(tf32=77.4, fp16=154.8, bf16=154.8, int8=309.7)),
        (_SM_1536, 112, f"NVIDIA RTX A6000 datasheet, 2021; {_GA102}"),
    ),
    _gpu(
        "RTX A5000",
        r"RTX A5000(?! ?(?:Laptop|Max|\d))",
        (24, 768, 64),
        (tera(fp32=27.8, fp16=27.8), tera(tf32=55.5, fp16=111.1, bf16=111.1, int8=222.2)),
        (_SM_1536, 112, f"NVIDIA RTX A5000 datasheet, 2021; {_GA102}"),
    ),
    _gpu(
        "RTX 3060",
        r"RTX 3060(?! ?(?:Ti|Laptop))",
        (12, 360, 28),
        (tera(fp32=12.7, fp16=12.7), tera(tf32=12.7, fp16=25.5, bf16=25.5, int8=101.9)),
        (_SM_1536, None, f"GeForce RTX 3060 specifications, 2021: 3,584 cores at 1.78 GHz; {_GA102}"),
    ),
    _gpu(
        "RTX 3060 Laptop",
        r"RTX 3060 Laptop",
        (6, 336, 30),
        (tera(fp32=13.1, fp16=13.1), tera(tf32=13.1, fp16=26.2, bf16=26.2, int8=104.6)),
        (_SM_1536, None, f"GeForce RTX 3060 Laptop GPU, 2021: 3,840 cores at 1.28 to 1.70 GHz; {_GA102}"),
    ),
    _gpu(
        "RTX 4090 Laptop",
        r"RTX 4090 Laptop",
        (16, 576, 76),
        (tera(fp32=33, fp16=33), tera(tf32=33, fp16=66, bf16=66, fp8=131.9, int8=263.8)),
        (_SM_1536, None, f"GeForce RTX 4090 Laptop GPU, 2023: 9,728 cores, at 120 W up to 1.70 GHz; {_ADA}"),
    ),
    _gpu(
        "RTX 500 Ada Laptop",
        r"RTX 500 Ada",
        (4, 128, 16),
        (tera(fp32=9.2, fp16=9.2), tera(tf32=18.4, fp16=36.8, bf16=36.8, fp8=73.6, int8=73.6)),
        (_SM_1536, None, f"NVIDIA RTX 500 Ada Generation Laptop GPU, 2024: 9.2 TFLOP/s of fp32; {_ADA}"),
    ),
    _gpu(
        "GB10",
        r"\bGB10\b",
        (128, 273, 48),
        (tera(fp32=29.7, fp16=29.7), tera(tf32=59.4, fp16=118.8, bf16=118.8, fp8=237.7, int8=237.7)),
        (
            _SM_1536,
            None,
            "NVIDIA DGX Spark specifications, 2025: 1 PFLOP/s of sparse FP4, 273 GB/s, 48 SMs; rates of "
            "wider types by the RTX Blackwell GPU Architecture whitepaper, 2025",
        ),
    ),
    _gpu(
        "RTX 4090",
        r"RTX 4090(?! ?(?:D|Laptop))",
        (24, 1008, 128),
        (tera(fp32=82.6, fp16=82.6), tera(tf32=82.6, fp16=165.2, bf16=165.2, fp8=330.3, int8=660.6)),
        (_SM_1536, None, _ADA),
    ),
    _gpu(
        "RTX 5090",
        r"RTX 5090(?! ?(?:D|Laptop))",
        (32, 1792, 170),
        (tera(fp32=104.8, fp16=104.8), tera(tf32=104.8, fp16=209.5, bf16=209.5, fp8=419, int8=838)),
        (_SM_1536, None, "NVIDIA RTX Blackwell GPU Architecture whitepaper, 2025"),
    ),
)

#: Their clocks depend on what power a laptop allows; of GB10 only the rate of sparse FP4 is stated.
_ESTIMATED = frozenset({"RTX 3060 Laptop", "RTX 4090 Laptop", "RTX 500 Ada Laptop", "GB10"})

NVIDIA: tuple[Device, ...] = tuple(
    replace(one, estimated=one.name in _ESTIMATED) for one in (*_BLACKWELLS, *_DATACENTRE, _H800, *_WORKSTATION)
)
