"""Counters of the cores for each kernel: the set ``PipeUtilization``, consistent with the kernel's time."""

from __future__ import annotations

from typing import Final

from stepscope.simulate.devices import Device
from stepscope.simulate.specs import KernelSpec
from stepscope.simulate.writers.ascend import vocabulary

CUBE: Final = ("mac", "scalar", "mte1", "mte2", "fixpipe")
VECTOR: Final = ("vec", "scalar", "mte2", "mte3")
COLUMNS: Final = (
    "aicore_time(us)", "aic_total_cycles", *[f"aic_{p}_{w}" for p in CUBE for w in ("time(us)", "ratio")],
    "aic_icache_miss_rate",
    "aiv_time(us)", "aiv_total_cycles", *[f"aiv_{p}_{w}" for p in VECTOR for w in ("time(us)", "ratio")],
    "aiv_icache_miss_rate", "cube_utilization(%)",
)  # fmt: skip
_SHAPED: Final = ("MIX_AIC", "MIX_AIV", "AI_CORE", "AI_VECTOR_CORE")

#: Time of a task before and after its cores work, in ns: what recordings show between the two for short kernels.
_AROUND: Final = 550


def blocks(spec: KernelSpec, device: Device) -> tuple[int, int]:
    """Cores a kernel runs on, and vector cores beside its cube cores; at most as many as there are."""
    kind = vocabulary.core(spec)
    if kind not in _SHAPED:
        return 0, 0
    wanted = spec.grid[0] * spec.grid[1] * spec.grid[2]
    if kind in ("AI_CORE", "MIX_AIC"):
        cubes = min(device.sms, wanted)
        return cubes, 2 * cubes if kind == "MIX_AIC" else 0
    return min(2 * device.sms, wanted), 0


def counters(spec: KernelSpec, spent: int, device: Device) -> list[str]:
    """One kernel's counters, in the order of ``COLUMNS``; ``spent`` is its time in ns."""
    kind = vocabulary.core(spec)
    if kind not in _SHAPED:
        return ["N/A"] * len(COLUMNS)
    busy = max(spent - _AROUND, spent // 2)
    cubes, beside = blocks(spec, device)
    cube, vector = [0] * len(CUBE), [0] * len(VECTOR)
    if kind in ("AI_CORE", "MIX_AIC"):
        cube = _pipes(_cube_shares(spec, busy, cubes, device), busy)
    if kind != "AI_CORE":
        vector = _pipes(_vector_shares(spec, busy, device), busy)
    aic = busy if kind in ("AI_CORE", "MIX_AIC") else 0
    aiv = busy if kind != "AI_CORE" else 0
    utilisation = round(100 * aic * cubes / (device.sms * spent), 3) if aic else 0
    vectors = beside if kind == "MIX_AIC" else cubes
    return [
        *_core(aic, cubes, cube, device), "0.001" if aic else "0.0",
        *_core(aiv, vectors, vector, device), "0.021" if aiv else "0.0",
        str(utilisation),
    ]  # fmt: skip


def _cube_shares(spec: KernelSpec, busy: int, cubes: int, device: Device) -> tuple[float, ...]:
    """Shares of the time each pipe works: multiplying and moving from their rates, the others follow these two."""
    rate = device.matrix_flops * cubes / device.sms
    mac = spec.flops / rate * 1e9 / busy
    moved = spec.bytes / device.bandwidth * 1e9 / busy
    return mac, 0.25 + mac / 4, mac * 0.9, moved, moved / 4


def _vector_shares(spec: KernelSpec, busy: int, device: Device) -> tuple[float, ...]:
    """A vector core takes 128 16-bit operands per cycle; two thirds of the traffic are reads."""
    computed = spec.flops / (2 * device.sms * 128 * device.megahertz * 1e6) * 1e9 / busy
    moved = spec.bytes / device.bandwidth * 1e9 / busy
    return computed, 0.05, moved * 2 / 3, moved / 3


def _pipes(shares: tuple[float, ...], busy: int) -> list[int]:
    return [int(min(share, 0.98) * busy) for share in shares]


def _core(busy: int, cores: int, pipes: list[int], device: Device) -> list[str]:
    """Time, cycles of all cores together, and each pipe's time and share of the time."""
    values = [str(busy / 1000), str(busy * device.megahertz * cores // 1000)]
    for pipe in pipes:
        values += [str(pipe / 1000), str(round(pipe / busy, 3) if busy else 0.0)]
    return values
