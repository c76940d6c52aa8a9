"""From what users call a device to its platform."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Final

from stepscope.language import said
from stepscope.model.device_table import DEVICES, Device
from stepscope.model.device_table.device import GB, GIB
from stepscope.model.devices import match
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.planning.machine.platform import Platform
from stepscope.planning.machine.tabulated import SUSTAINED, Sustained

#: What people write for a device, as patterns on the name in lower case, and the table's name; the first match counts.
_SPELLED: Final = (
    (r"gb300", "GB300"),
    (r"gb200", "GB200"),
    (r"gh200.*144", "GH200-144GB"),
    (r"gh200", "GH200-96GB"),
    (r"b300", "B300"),
    (r"b200", "B200"),
    (r"b100\b", "B100"),
    (r"h200.*nvl", "H200-NVL"),
    (r"h200", "H200-SXM-141GB"),
    (r"h100.*pcie", "H100-PCIE-80GB"),
    (r"h100.*nvl\b", "H100-NVL"),
    (r"h100", "H100-SXM5-80GB"),
    (r"h800", "H800-SXM5-80GB"),
    (r"\bh20\b", "H20"),
    (r"a100.*pcie.*40|a100.*40.*pcie", "A100-PCIE-40GB"),
    (r"a100.*pcie", "A100-PCIE-80GB"),
    (r"a100.*40", "A100-SXM4-40GB"),
    (r"a100", "A100-SXM4-80GB"),
    (r"a800.*pcie", "A800-PCIE-80GB"),
    (r"a800", "A800-SXM4-80GB"),
    (r"v100s", "V100S-PCIE-32GB"),
    (r"v100.*pcie.*16|v100.*16.*pcie", "V100-PCIE-16GB"),
    (r"v100.*pcie", "V100-PCIE-32GB"),
    (r"v100.*16", "V100-SXM2-16GB"),
    (r"v100", "V100-SXM2-32GB"),
    (r"mi250x", "MI250X (one die)"),
    (r"mi250", "MI250 (one die)"),
    (r"910[ _-]?b1|atlas ?(?:800t? ?)?a2", "Ascend 910B1"),
    (r"910[ _-]?b2", "Ascend 910B2"),
    (r"910[ _-]?b3", "Ascend 910B3"),
    (r"910[ _-]?b4", "Ascend 910B4"),
    (r"910[ _-]?b", "Ascend 910B2"),
    (r"910[ _-]?c|910_93|\ba3\b|cloudmatrix", "Ascend 910C (one die)"),
    (r"\ba2\b", "Ascend 910B2"),
    (r"910[ _-]?a?\b", "Ascend 910A"),
)
#: Figures that the table of devices leaves open, as plans need them: name, memory, GB/s and FLOP/s in 16 bits.
_OPEN: Final[dict[str, tuple[int, int, float | None]]] = {
    "Ascend 910B1": (64, 1600, 378e12),
    "Ascend 910B2": (64, 1600, None),
    "Ascend 910B3": (64, 1600, None),
    "Ascend 910B4": (32, 800, None),
}
#: Tokens of a causal sequence at which fused attention of Huawei's NPUs runs at half of its share.
_REACH: Final = 2450.0
#: Devices that only plans know: 16-bit FLOP/s, GB, GB/s. Google Cloud documentation of TPU versions, 2025.
_MORE: Final = {
    r"tpu ?-?v?4": ("TPU v4", 275e12, 32, 1228),
    r"tpu ?-?v?5e": ("TPU v5e", 197e12, 16, 819),
    r"tpu ?-?v?5p": ("TPU v5p", 459e12, 95, 2765),
    r"tpu ?-?v?6e|trillium": ("TPU v6e", 918e12, 32, 1640),
}


@lru_cache(maxsize=64)
def platform(text: str) -> Platform:
    """The platform that a device's name means.

    Args:
        text: As people write it: `a100-80gb`, `H100-96GB HBM2e 500 W`, `NVIDIA H100 80GB HBM3`, `910b`. A size of
            memory and a power limit in it replace the usual ones.

    Raises:
        UserError: No such device is known.
    """
    plain = re.sub(r"[_\s]+", " ", text.strip().lower())
    for pattern, (name, peak, size, bandwidth) in _MORE.items():
        if re.search(pattern, plain):
            row = _row_of(name)
            return _with_limits(_platform(name, size * GIB, bandwidth * GB, {"bf16": peak}, row, None), row, plain)
    device = _device(plain, text)
    row = _row_of(device.name)
    least, rate, open_peak = _OPEN.get(device.name, (0, 0, None))
    peaks: dict[str, float] = dict(device.matrix)
    if open_peak and "bf16" not in peaks:
        peaks |= {"bf16": open_peak, "fp16": open_peak, "int8": 2 * open_peak}
    if not peaks:
        peaks = dict(device.vector)
    memory = device.memory_bytes or least * GIB
    speed = device.memory_bandwidth or rate * GB
    if not peaks or not memory or not speed:
        raise UserError(
            said("too little is published of {name} to plan for it", name=device.name), hint="name a kin of it"
        )
    return _with_limits(_platform(device.name, memory, speed, peaks, row, device), row, plain)


def _device(plain: str, text: str) -> Device:
    by_name = {device.name: device for device in DEVICES}
    for pattern, name in _SPELLED:
        if re.search(rf"{pattern}(?!\d)", plain) and not re.search(r"[hab]\d{4,}", plain):
            return by_name[name]
    # Cards are called by their number alone, too: 4090, rtx4090, a6000.
    short = re.sub(r"^(?:nvidia |geforce )*(?:rtx)? ?", "RTX ", plain)
    found = match(text) or match(text.upper()) or match(short.upper()) or match(short.title().replace("Rtx", "RTX"))
    if found is None:
        names = [device.name for device in DEVICES]
        raise UserError(
            said("device {text!r} is not known", text=text),
            hint=choose(text, names, "give one such as a100-80gb or h100"),
        )
    return found


def _row_of(name: str) -> Sustained:
    return next(row for row in SUSTAINED if row.pattern.search(name))


def _platform(
    name: str, memory: int, bandwidth: float, peaks: dict[str, float], row: Sustained, device: Device | None
) -> Platform:
    ascend = row.collectives == "HCCL"
    return Platform(
        name=name,
        memory_bytes=memory,
        memory_bandwidth=0.80 * bandwidth,
        peaks=peaks,
        sustained={"bf16": row.half, "fp16": row.half, "fp8": row.eight, "fp32": row.half},
        units=(device.units if device and device.units else row.units),
        attention=row.attention,
        attention3=row.attention3,
        per_server=row.per_server,
        link=row.link * GB,
        network=row.network * GB,
        mesh=row.mesh,
        reach=_REACH if row.npu else 400.0,
        scores=row.npu,
        separate=row.npu,
        latency=12e-6 if ascend else 6e-6,
        # HCCL holds two buffers of HCCL_BUFFSIZE (200 MB unless set) for each communication domain.
        # NCCL has 4 MiB (NCCL_BUFFSIZE) and what its other protocols need, about 9 MiB, in each of 24 channels.
        channel_bytes=(400 << 20) if ascend else (216 << 20),
        collectives=row.collectives,
        source=device.source if device else "Google Cloud documentation of TPU versions, 2025",
    )


def _with_limits(one: Platform, row: Sustained, plain: str) -> Platform:
    """Memory and power that the text states instead of the usual ones."""
    stated = re.search(r"(\d{2,3}) ?gi?b\b", plain)
    if stated and abs(int(stated[1]) * GIB - one.memory_bytes) > 0.02 * one.memory_bytes:
        one = replace(one, memory_bytes=int(stated[1]) * GIB)
    if "hbm2e" in plain and "H100" in one.name:
        # Five or six stacks of HBM2e at 3.2 Gb/s per pin: about 2.4 TB/s.
        one = replace(one, memory_bandwidth=0.80 * 2400 * GB)
    power = re.search(r"(\d{3,4}) ?w\b", plain)
    if power and int(power[1]) < row.watts:
        # About 30 % of the power (memory, leakage, links) does not depend on the clock; the rest goes with its cube.
        still = 0.3 * row.watts
        factor = (max(1.0, int(power[1]) - still) / (row.watts - still)) ** (1 / 3)
        one = replace(
            one,
            sustained={key: value * factor for key, value in one.sustained.items()},
            attention=_scaled(one.attention, factor),
            attention3=_scaled(one.attention3, factor),
        )
    gigabits = re.search(r"(\d{2,4}) ?gb/s", plain)
    if gigabits:
        one = replace(one, network=int(gigabits[1]) / 8 * 0.85 * GB)
    return one


def _scaled(shares: tuple[float, float], factor: float) -> tuple[float, float]:
    return shares[0] * factor, shares[1] * factor
