"""How busy a device's units and links were while it computed, communicated and copied, by samples."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import DeviceTime, device_times
from stepscope.model.device_table.sampled import measured
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals, Times
from stepscope.model.schema import Column, TableSchema, count, fraction, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

_MEAN: Final = "Mean of the samples between which {}, as a share; null if there are none, or the device is not known."
DEVICE_SAMPLES: Final = TableSchema(
    "device_samples",
    "One row per device and sampled metric of its units and links that is a share of what these can do (Nsight "
    "Systems: `--gpu-metrics-devices`); the samples themselves are counters.",
    (
        RANK,
        Column("device", "int32", "Device index; null if it is not known whose samples they are.", "", True),
        text("name", "The metric, as recorded."),
        text("measures", "SMs (that have work), issue (of instructions), tensor cores (that work), memory read or "
             "write, pcie or nvlink receive or transmit; of links the parts of one direction add up."),
        count("samples", "How many samples there are."),
        fraction("mean", "Their mean, as a share."),
        fraction("most", "The largest."),
        count("computing_samples", "Samples between which a compute kernel runs all the time."),
        fraction("computing_mean", _MEAN.format("a compute kernel runs all the time"), nullable=True),
        fraction("communicating_mean", _MEAN.format("a collective runs all the time"), nullable=True),
        fraction("copying_mean", _MEAN.format("a copy runs all the time"), nullable=True),
    ),
)  # fmt: skip

#: Of the time from the sample before to the one after: what a sample is the mean of is not documented.
_ALL: Final = 0.95
_NAMES_SQL: Final = """
SELECT DISTINCT c.track, c.name, t.device FROM counters c JOIN tracks t ON t.track = c.track ORDER BY ALL
"""
_SAMPLES_SQL: Final = "SELECT ts, value FROM counters WHERE track = $track AND name = $name ORDER BY ts"


def device_samples(trace: Trace) -> Table:
    """Sum up the samples of each metric over the times in which the device did one thing.

    Raises:
        MissingInputError: The recording has none.
    """
    wanted = [row for row in trace.rows(_NAMES_SQL) if measured(row["name"]) is not None]
    if not wanted:
        raise MissingInputError.of("device_counters")
    times = {one.device: one for one in trace.once(device_times)}
    rows = []
    for row in wanted:
        samples = trace.columns(_SAMPLES_SQL, {"track": row["track"], "name": row["name"]})
        told = _summed(samples["ts"], samples["value"] / 100, times.get(row["device"]))
        rows.append((trace.ranks[0], row["device"], row["name"], measured(row["name"]), *told))
    rows.sort(key=lambda one: (-1 if one[1] is None else one[1], one[2]))
    return Table.from_rows(DEVICE_SAMPLES, rows)


def _summed(ts: Times, share: NDArray[np.float64], times: DeviceTime | None) -> tuple[Any, ...]:
    """Number, mean, most, and number while computing; means while computing, communicating and copying."""
    share = np.clip(share, 0.0, 1.0)
    plain = (int(share.size), float(share.mean()), float(share.max()))
    if times is None or share.size < 2:
        return (*plain, 0, None, None, None)
    before, after = np.append(ts[:1], ts[:-1]), np.append(ts[1:], ts[-1:])
    chosen = [_during(one, before, after) for one in (times.compute, times.comm, times.copy)]
    means = [float(share[one].mean()) if one.any() else None for one in chosen]
    return (*plain, int(np.count_nonzero(chosen[0])), *means)


def _during(busy: Intervals, before: Times, after: Times) -> NDArray[np.bool_]:
    """Which samples have such work all the time around them, bool[n]."""
    found: NDArray[np.bool_] = (after > before) & (busy.within(before, after) >= _ALL * (after - before))
    return found


ANALYSES = (Analysis(DEVICE_SAMPLES, device_samples),)
