"""Which chip it is: AI cores and clock from the profiler's own description of the device, else from counters.

A kernel's counters hold the cycles of all its cores together, the mean time of a core, and the share of the chip that
its cubes were busy:

    cube utilisation = cycles / (clock x cores x duration)
    time of a core   = cycles / (clock x blocks) x rounds,   rounds = ceil(blocks / cores)

(MindStudio, "Profiling data file references", op_summary). The first gives cores x clock, the second the clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.language import pattern, said
from stepscope.model.amounts import plural
from stepscope.model.device_table.ascend import known_cores, variants
from stepscope.store.staging import Staging

#: One row per kernel with counters of cubes or vectors: chips of the first generation do not tell them apart.
_COUNTERS_SQL: Final = """
SELECT coalesce(d.device, 0) AS device, greatest(d.dur, 0) AS dur, m.cube, m.vector, m.cube_ns, m.vector_ns, m.used,
    coalesce(try_cast(coalesce(d.args->>'Block Dim', d.args->>'Block Num') AS DOUBLE), 0) AS blocks,
    coalesce(d.core, '') AS core
FROM ascend_device d JOIN (
    SELECT event, coalesce(max(value) FILTER (WHERE metric IN ('aic_total_cycles', 'total_cycles')), 0) AS cube,
        coalesce(max(value) FILTER (WHERE metric = 'aiv_total_cycles'), 0) AS vector,
        coalesce(max(value) FILTER (WHERE metric = 'aic_total_time'), 0) AS cube_ns,
        coalesce(max(value) FILTER (WHERE metric = 'aiv_total_time'), 0) AS vector_ns,
        coalesce(max(value) FILTER (WHERE metric = 'cube_utilization'), 0) AS used
    FROM kernel_metrics WHERE isfinite(value) AND metric IN ('aic_total_cycles', 'total_cycles', 'aiv_total_cycles',
        'aic_total_time', 'aiv_total_time', 'cube_utilization') GROUP BY 1
) m ON m.event = d.i
WHERE d.kind = 'compute' AND m.cube + m.vector > 0
"""
_LEAST_MEMORY_SQL: Final = """
SELECT coalesce(max(value), 0)::BIGINT FROM ascend_counters
WHERE unit = 'memory' AND name LIKE '% reserved' AND isfinite(value)
"""
#: The clock that a recording kept; a recording is one rank's, and so one device's.
_CLOCK_SQL: Final = """
SELECT max(value) FROM ascend_counters WHERE name ILIKE '%AI Core Freq%' AND value > 0 AND isfinite(value)
HAVING min(value) = max(value)
"""
_USED_SQL: Final = "SELECT DISTINCT device FROM ascend_device WHERE device IS NOT NULL ORDER BY 1"
#: Utilisation is written with three decimals of a per cent, times with three of a microsecond: from these on their
#: rounding is below a thousandth.
_LEAST_USED: Final = 0.01
_LEAST_NS: Final = 5_000
#: Two figures are one if they differ by less, and those of one chip are no further apart.
_SAME: Final = 0.002
#: So many kernels do not use the same number of blocks by chance.
_SEVERAL: Final = 3
_MOST_CORES: Final = 256
_MHZ: Final = (100.0, 5000.0)
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Cores:
    """AI cores of a chip.

    Attributes:
        number: How many.
        megahertz: Their clock.
        source: Where that is from, in words.
    """

    number: int
    megahertz: float
    source: str


def add_chip(staging: Staging, folder: Path | None) -> None:
    """Describe the devices in use in table `devices`: their cores and clock, and what these tell.

    Args:
        staging: With `ascend_device` and `kernel_metrics`.
        folder: The result's folder, around which raw data may lie; None for a single file.
    """
    described = dict(_described(folder)) if folder is not None else {}
    counted = _counted(staging)
    [used] = staging.one(_LEAST_MEMORY_SQL)
    for (device,) in staging.connection.execute(_USED_SQL).fetchall():
        cores = described.get(device) or counted.get(device)
        if cores is not None:
            _describe(staging, device, cores, used)


def _describe(staging: Staging, device: int, cores: Cores, least_memory: int) -> None:
    told = said("{number} AI cores at {megahertz:,.0f} MHz", number=cores.number, megahertz=cores.megahertz)
    known = variants(cores.number, cores.megahertz, least_memory)
    sizes, rates = {one.memory_bytes for one in known}, {one.memory_bandwidth for one in known}
    name = known[0].name if len(known) == 1 else f"Ascend NPU, {told}"
    connection = staging.connection
    size, rate = (next(iter(values)) if len(values) == 1 else None for values in (sizes, rates))
    if connection.execute("SELECT 1 FROM devices WHERE device = ?", [device]).fetchone() is None:
        connection.execute("INSERT INTO devices (device, used) VALUES (?, false)", [device])
    # Databases name the family, whose variants differ by half.
    connection.execute(
        "UPDATE devices SET name = CASE WHEN regexp_full_match(coalesce(name, ''), 'Ascend ?910B') AND ? "
        "THEN ? ELSE coalesce(nullif(name, ''), ?) END, sms = ?, clock_hz = ?, "
        "memory_bytes = coalesce(memory_bytes, ?), memory_bandwidth = coalesce(memory_bandwidth, ?), known_by = ? "
        "WHERE device = ?",
        [
            len(known) == 1, name, name, cores.number, round(cores.megahertz * 1e6), size, rate,
            f"{told}, {cores.source}", device,
        ],
    )  # fmt: skip
    words = (
        pattern("the chip has {told} (device {device}), {source}") if not known
        else pattern("the chip has {told} (device {device}), {source}: an {names}") if len(known) == 1
        else pattern("the chip has {told} (device {device}), {source} (one of {names})")
    )  # fmt: skip
    names = ", ".join(one.name for one in known)
    staging.observe(
        "device-derived", "info", 1, said(words, told=told, device=device, source=cores.source, names=names),
        "its peak rates follow from these; --device states another device, --memory the size of its memory",
    )  # fmt: skip


def _described(folder: Path) -> Iterator[tuple[int, Cores]]:
    """Cores by device, from `info.json` of the raw data beside a result."""
    patterns = ("device_*/info.json*", "PROF_*/device_*/info.json*")
    found = [path for around in (folder, folder.parent) for pattern in patterns for path in around.glob(pattern)]
    for path in sorted(dict.fromkeys(found))[:_MOST_CORES]:
        with suppress(OSError, ValueError, RecursionError, TypeError, KeyError, IndexError, AttributeError):
            if path.stat().st_size > _MOST_BYTES or path.name.endswith(".done"):
                continue
            info: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["DeviceInfo"][0]
            number, megahertz = int(info["ai_core_num"]), float(info["aic_frequency"])
            if 0 < number <= _MOST_CORES and _MHZ[0] <= megahertz <= _MHZ[1]:
                yield int(info.get("id", path.parent.name.rsplit("_", 1)[-1])), Cores(number, megahertz, "by info.json")


def _counted(staging: Staging) -> dict[int, Cores]:
    """Cores by device, from counters."""
    rows = staging.connection.execute(_COUNTERS_SQL).fetchnumpy()
    kept = staging.connection.execute(_CLOCK_SQL).fetchone()
    found: dict[int, Cores] = {}
    for device in np.unique(rows["device"]).tolist():
        mine = {name: np.asarray(values)[rows["device"] == device] for name, values in rows.items()}
        cores = _by_utilisation(mine) or _by_rounds(mine, kept[0] if kept else None)
        if cores is not None:
            found[device] = cores
    return found


def _by_utilisation(rows: dict[str, NDArray[Any]]) -> Cores | None:
    """From kernels whose utilisation of the cubes is recorded well enough."""
    good = (rows["used"] >= _LEAST_USED) & (rows["dur"] >= _LEAST_NS) & (rows["cube"] > 0)
    clock = _clock(rows)
    if not good.any() or clock is None:
        return None
    rates = rows["cube"][good] / (rows["used"][good] * rows["dur"][good]) * 1e3
    rate = float(np.median(rates))
    number = round(rate / clock)
    if not 0 < number <= _MOST_CORES or abs(rate / (number * clock) - 1) > _SAME:
        return None
    if np.median(np.abs(rates / rate - 1)) > _SAME:
        return None
    return Cores(number, clock, said("from the counters of {kernels}", kernels=plural(int(good.sum()), "kernel")))


def _clock(rows: dict[str, NDArray[Any]]) -> float | None:
    """Clock in MHz: what kernels without more blocks than cores show, which none exceeds."""
    cube = (rows["cube_ns"] >= _LEAST_NS) & (rows["cube"] > 0) & (rows["blocks"] > 0)
    values = rows["cube"][cube] * 1e3 / (rows["cube_ns"][cube] * rows["blocks"][cube])
    alone = (rows["core"] == "AI_VECTOR_CORE") & (rows["vector_ns"] >= _LEAST_NS) & (rows["blocks"] > 0)
    values = np.append(values, rows["vector"][alone] * 1e3 / (rows["vector_ns"][alone] * rows["blocks"][alone]))
    values = values[(values >= _MHZ[0]) & (values <= _MHZ[1])]
    if not values.size:
        return None
    most = float(np.quantile(values, 0.95))
    near = values[np.abs(values / most - 1) <= _SAME]
    return round(float(np.median(near)), 1)


def _by_rounds(rows: dict[str, NDArray[Any]], kept: float | None) -> Cores | None:
    """From kernels that use all cores, or more blocks than there are: only known chips can be told by that.

    Half of a clock looks like two rounds: where the recording kept one clock, it is that of the cores; chips that are
    rated at it go before others.
    """
    cube = (rows["cube_ns"] >= _LEAST_NS) & (rows["cube"] > 0) & (rows["blocks"] > 0)
    vector = (rows["core"] == "AI_VECTOR_CORE") & (rows["vector_ns"] >= _LEAST_NS) & (rows["blocks"] > 0)
    blocks = np.append(rows["blocks"][cube], rows["blocks"][vector])
    seen = np.append(
        rows["cube"][cube] * 1e3 / (rows["cube_ns"][cube] * rows["blocks"][cube]),
        rows["vector"][vector] * 1e3 / (rows["vector_ns"][vector] * rows["blocks"][vector]),
    )
    units = np.append(np.ones(int(cube.sum())), np.full(int(vector.sum()), 2.0))
    fits = []
    rated = [one for one in known_cores() if kept is not None and abs(one[1] / kept - 1) <= _SAME]
    for number, usual in rated or known_cores():
        megahertz = usual if kept is None else kept
        cores = number * units
        expected = megahertz / np.ceil(blocks / cores)
        full = int(np.count_nonzero(blocks == cores))
        # More blocks than cores show how many cores there are as well.
        shown = full >= _SEVERAL or bool((blocks > cores).any())
        if blocks.size and shown and np.quantile(np.abs(seen / expected - 1), 0.9) <= _SAME:
            fits.append((full, number, megahertz))
    if not fits or len({number for _, number, _ in fits}) > 1 or len({clock for *_, clock in fits}) > 1:
        return None
    return Cores(
        fits[0][1], float(fits[0][2]), said("from the counters of {kernels}", kernels=plural(blocks.size, "kernel"))
    )
