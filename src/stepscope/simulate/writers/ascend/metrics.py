"""Counters of the cores for each kernel: the set ``PipeUtilization``, consistent with the kernel's time."""

from __future__ import annotations

from typing import Final

from stepscope.simulate.devices import SimDevice
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


def blocks(spec: KernelSpec, device: SimDevice) -> tuple[int, int]:
    """Cores a kernel runs on, and vector cores beside its cube cores; at most as many as there are."""
    kind = vocabulary.core(spec)
    if kind not in _SHAPED:
        return 0, 0
    wanted = spec.grid[0] * spec.grid[1] * spec.grid[2]
    if kind in ("AI_CORE", "MIX_AIC"):
        cubes = min(device.sms, wanted)
        return cubes, 2 * cubes if kind == "MIX_AIC" else 0
    return min(2 * device.sms, wanted), 0


def counters(spec: KernelSpec, spent: int, device: SimDevice, megahertz: int) -> list[str]:
    """One kernel's counters, in the order of ``COLUMNS``; ``spent`` is its time in ns, at the clock it ran with.

    Pipes share the time as they would on an undisturbed device: a lower clock slows all of them.
    """
    kind = vocabulary.core(spec)
    if kind not in _SHAPED:
        return ["N/A"] * len(COLUMNS)
    busy = _busy(spent)
    cubes, beside = blocks(spec, device)
    has_cube, has_vector = kind in ("AI_CORE", "MIX_AIC"), kind != "AI_CORE"
    vectors = beside if kind == "MIX_AIC" else cubes
    cycles = busy * megahertz // 1000
    utilisation = round(100 * busy * cubes / (device.sms * spent), 3) if has_cube else 0
    cube = _cube_shares(spec, cubes, device) if has_cube else (0.0,) * len(CUBE)
    vector = _vector_shares(spec, device) if has_vector else (0.0,) * len(VECTOR)
    return [
        *_core(busy * has_cube, cycles * cubes * has_cube, cube), "0.001" if has_cube else "0.0",
        *_core(busy * has_vector, cycles * vectors * has_vector, vector), "0.021" if has_vector else "0.0",
        str(utilisation),
    ]  # fmt: skip


def _busy(spent: int) -> int:
    return max(spent - _AROUND, spent // 2)


def _cube_shares(spec: KernelSpec, cubes: int, device: SimDevice) -> tuple[float, ...]:
    """Shares of the time each pipe works: multiplying at the device's rate, or moving at that of its memory.

    The pipes that feed the cube work longer than it does: recordings show 1.7 times as long.
    """
    busy = _busy(spec.duration_ns)
    rate = device.matrix_flops
    if spec.inputs[0].dtype == "fp32":
        rate = rate / 2 if vocabulary.hf32(spec) == "YES" else device.single_flops
    mac = min(1.0, spec.flops / (rate * cubes / device.sms) * 1e9 / busy)
    moved = spec.bytes / device.bandwidth * 1e9 / busy
    return mac, 0.25 + mac / 4, min(0.9, 1.7 * mac), max(moved, min(0.93, 1.7 * mac)), moved / 4


def _vector_shares(spec: KernelSpec, device: SimDevice) -> tuple[float, ...]:
    """Shares of a vector core's pipes: 128 16-bit operands per cycle; reads wait for memory while writes run."""
    busy = _busy(spec.duration_ns)
    computed = spec.flops / (2 * device.sms * 128 * device.megahertz * 1e6) * 1e9 / busy
    moved = spec.bytes / device.bandwidth * 1e9 / busy
    return computed, 0.05, moved, moved / 2


def _core(busy: int, cycles: int, shares: tuple[float, ...]) -> list[str]:
    """Time, cycles of all cores together, and each pipe's time and share of the time."""
    values = [str(busy / 1000), str(cycles)]
    for share in shares:
        pipe = int(min(share, 0.98) * busy)
        values += [str(pipe / 1000), str(round(pipe / busy, 3) if busy else 0.0)]
    return values
