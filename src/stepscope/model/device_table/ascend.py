"""Huawei Ascend devices.

Huawei publishes no datasheet per 910B variant. Rates here are cores x clock x 16 x 16 x 16 x 2 FLOP for 16-bit
operands and twice that for int8 (the cube unit's shape: the formula of msprof-analyze's operator_mfu), with the
cores and the clock of CANN's platform configuration files. A recording that states cores and clock in its `info.json`
overrides them.
"""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.model.device_table.device import GB, GIB, NOTHING, Device, named, tera

_CUBE_FLOPS = 16 * 16 * 16 * 2
_CANN = "CANN platform configuration file {} (ai_core_cnt, cube_freq, memory_size), 2024"


def cube_rates(cores: int, megahertz: int, *, bf16: bool = True) -> dict[str, int]:
    """FLOP/s of the cube units by operand type, from the number of AI cores and their clock in MHz."""
    rate = cores * megahertz * 10**6 * _CUBE_FLOPS
    return {"fp16": rate, **({"bf16": rate} if bf16 else {}), "int8": 2 * rate}


def _npu(
    name: str,
    pattern: str,
    memory: tuple[int | None, float | None, int | None],
    matrix: Mapping[str, int],
    source: str,
) -> Device:
    """A row: memory is (GiB, GB/s, AI cores)."""
    size, bandwidth, cores = memory
    return Device(
        name=name,
        vendor="huawei",
        pattern=named(pattern),
        memory_bytes=None if size is None else size * GIB,
        memory_bandwidth=None if bandwidth is None else round(bandwidth * GB),
        units=cores,
        vector=NOTHING,
        matrix=matrix,
        max_threads=None,
        warp_size=None,
        link_bandwidth=None,
        source=source,
    )


ASCEND: tuple[Device, ...] = (
    _npu("Ascend 910B1", r"910B1\b", (64, None, None), NOTHING, "memory as its driver reports it; rates not published"),
    _npu("Ascend 910B2", r"910B2\b", (64, None, 24), cube_rates(24, 1800), _CANN.format("Ascend910B2.ini")),
    _npu("Ascend 910B3", r"910B3\b", (64, None, 20), cube_rates(20, 1800), _CANN.format("Ascend910B3.ini")),
    _npu("Ascend 910B4", r"910B4\b", (32, None, 20), cube_rates(20, 1500), _CANN.format("Ascend910B4.ini")),
    _npu(
        "Ascend 910C (one die)",
        r"910C|910 93",
        (64, 1600, 24),
        tera(fp16=376, bf16=376, int8=752),
        "Serving Large Language Models on Huawei CloudMatrix384 (Huawei, arXiv 2506.12708), 2025, per die",
    ),
    # Recordings often say only the family, whose variants differ by half: no rates then.
    _npu("Ascend 910B", r"910B(?!\d)", (None, None, None), NOTHING, "variant not recorded"),
    _npu(
        "Ascend 910A",
        r"910(?:A|PremiumA|ProA)?$",
        (32, 1200, 32),
        tera(fp16=256, int8=512),
        "DaVinci: A Scalable Architecture for Neural Network Computing (Huawei, Hot Chips 31), 2019",
    ),
    _npu(
        "Ascend 310P",
        r"310P\d?",
        (None, 204.8, None),
        tera(fp16=70, int8=140),
        "Huawei Atlas 300I Pro Inference Card datasheet, 2022",
    ),
)
