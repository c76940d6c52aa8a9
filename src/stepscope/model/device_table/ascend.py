"""Huawei Ascend devices.

Huawei publishes no datasheet per 910B variant. Rates here are cores x clock x 16 x 16 x 16 x 2 FLOP for 16-bit
operands and twice that for int8 (the cube unit's shape: the formula of msprof-analyze's operator_mfu), with the
cores and the clock of CANN's platform configuration files; they equal those of the Ascend backend of TorchTitan
(Huawei, 2026) but for the 910B1, whose stated rate is 2.8 % higher. Memory bandwidth is stated for the die of the 910C,
whose memory the variants with 64 GiB share; those with 32 GiB have half of its stacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.model.device_table.device import GB, GIB, NOTHING, Device, named, tera

_CUBE_FLOPS = 16 * 16 * 16 * 2
_CANN = "CANN platform configuration file {} (ai_core_cnt, cube_freq, memory_size), 2025"
_PAPER = "Serving Large Language Models on Huawei CloudMatrix384 (Huawei, arXiv 2506.12708), 2025, per die"
_TITAN = "Ascend backend of TorchTitan (Huawei), 2026: peak of the cube units in BF16"


def cube_rates(cores: int, megahertz: float, *, bf16: bool = True) -> dict[str, int]:
    """FLOP/s of the cube units by operand type, from the number of AI cores and their clock in MHz."""
    rate = round(cores * megahertz * 10**6) * _CUBE_FLOPS
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
    _npu(
        "Ascend 910B1", r"910B1\b", (64, 1600, 24), tera(fp16=373.88, bf16=373.88, int8=747.76), f"{_TITAN}; {_PAPER}"
    ),
    _npu(
        "Ascend 910B2", r"910B2C?\b", (64, 1600, 24), cube_rates(24, 1800), f"{_CANN.format('Ascend910B2')}; {_PAPER}"
    ),
    _npu("Ascend 910B3", r"910B3\b", (64, 1600, 20), cube_rates(20, 1800), f"{_CANN.format('Ascend910B3')}; {_PAPER}"),
    _npu(
        "Ascend 910B4-1",
        r"910B4 1\b",
        (64, 1600, 20),
        cube_rates(20, 1500),
        f"{_CANN.format('Ascend910B4-1')}; {_PAPER}",
    ),
    _npu("Ascend 910B4", r"910B4\b", (32, 800, 20), cube_rates(20, 1500), f"{_CANN.format('Ascend910B4')}; {_PAPER}"),
    _npu("Ascend 910C (one die)", r"910C|910 93", (64, 1600, 24), tera(fp16=376, bf16=376, int8=752), _PAPER),
    # The 950PR and 950DT have no memory figures here: these differ between what is announced and what is delivered.
    _npu("Ascend 950PR", r"950PR", (None, None, 32), tera(fp16=432, bf16=432), _TITAN),
    _npu("Ascend 950DT", r"950DT", (None, None, 36), tera(fp16=486, bf16=486), _TITAN),
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

#: AI cores and clock in MHz that tell variants apart, from CANN's platform configuration files. Two variants that share
#: both are told apart by the memory in use, or not at all.
_CORES: Final = (
    ("Ascend 910B1", 24, 1850),
    ("Ascend 910C (one die)", 24, 1850),
    ("Ascend 910B2", 24, 1800),
    ("Ascend 910B3", 20, 1800),
    ("Ascend 910B4-1", 20, 1500),
    ("Ascend 910B4", 20, 1500),
    ("Ascend 950PR", 32, 1650),
    ("Ascend 950DT", 36, 1650),
    ("Ascend 910A", 32, 1000),
)
#: Clocks that are measured from counters differ by less than this from the nominal ones.
_NEAR: Final = 0.004


def variants(cores: int, megahertz: float, least_memory: int = 0) -> tuple[Device, ...]:
    """The devices with so many AI cores at such a clock.

    Args:
        cores: Number of AI cores.
        megahertz: Their clock, MHz.
        least_memory: Bytes that were in use on the device at some time.
    """
    chosen = [name for name, units, clock in _CORES if units == cores and abs(megahertz / clock - 1) < _NEAR]
    return tuple(
        device for device in ASCEND if device.name in chosen and (device.memory_bytes or least_memory) >= least_memory
    )


def known_cores() -> tuple[tuple[int, int], ...]:
    """Distinct pairs of AI cores and clock in MHz of known variants."""
    return tuple(dict.fromkeys((cores, clock) for _, cores, clock in _CORES))
