"""One row per collective of each rank, with bandwidths and the part hidden behind compute."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.grouping import Groups, nullable
from stepscope.model.bus import bus_factor
from stepscope.model.coding import Codes
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, count, ident, ns, number, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

DEVICE: Final = Column("device", "int32", "Device index; null on the host or if not recorded.", "", True)
WORLD: Final = Column("world_size", "int32", "Ranks of the group; null if not recorded.", "", True)
BANDWIDTHS: Final = "of the whole duration, with the wait for late ranks in it; null where size or duration is unknown."
Columns = dict[str, NDArray[Any]]
COLLECTIVE_CALLS = TableSchema(
    "collective_calls",
    "One row per collective, in time order.",
    (
        ident("event", "The device event; the host event where no device event exists."),
        RANK,
        ns("ts", "Start."),
        ns("dur", "Duration on this rank, the wait for the last rank included."),
        DEVICE,
        Column("step", "int32", "Step, as in `steps`; null outside every step.", "", True),
        text("name", "Kind of collective."),
        text("group", "Process group, `default` where not recorded."),
        Column("seq", "int64", "Sequence number in the group; null if not recorded.", "", True),
        WORLD,
        size("bytes", "Size: the larger of input and output; null if not recorded.", nullable=True),
        ns("overlapped_ns", "The part of dur during which compute ran on the device; null on the host.", nullable=True),
        ns("exposed_ns", "dur - overlapped_ns; null on the host.", nullable=True),
        number("bus_bandwidth", f"bytes / dur times the factor of `bus_factor`: {BANDWIDTHS}", "bytes/s",
               nullable=True),
        count("position", "How many collectives of the same group and kind came before it on this rank."),
    ),
)  # fmt: skip
_SQL: Final = """
SELECT c.event, coalesce(k.ts, s.ts) AS ts, coalesce(k.dur, s.dur, 0) AS dur,
    CASE WHEN k.event IS NOT NULL THEN coalesce(k.device, -1) WHEN t.kind = 'device' THEN coalesce(t.device, -1)
        ELSE -2 END::INTEGER AS device, k.event IS NULL AND t.kind = 'device' AS summed,
    coalesce(k.step, s.step, -1)::INTEGER AS step, c.collective AS name, c."group", coalesce(c.seq, -1) AS seq,
    coalesce(c.world_size, g.size, -1)::INTEGER AS world_size, coalesce(c.bytes, -1) AS bytes
FROM collectives c
LEFT JOIN kernels k ON k.event = c.event
LEFT JOIN spans s ON k.event IS NULL AND s.id = c.event
LEFT JOIN tracks t ON t.track = s.track
LEFT JOIN (SELECT "group", max(size) AS size FROM groups WHERE size > 0 GROUP BY 1) g ON g."group" = c."group"
WHERE coalesce(k.ts, s.ts) IS NOT NULL
ORDER BY ts, c.event
"""
HOST: Final = -2
#: HCCL's groups are called by hashes of 19 digits.
NUMBERED_SQL: Final = """
SELECT "group", any_value(description) AS description, any_value(ranks) AS ranks FROM groups
WHERE description <> '' AND regexp_full_match("group", '\\d{8,}') GROUP BY 1 ORDER BY 1
"""
#: Of a rank of sums it is told how much of each step's communication was overlapped, in µs, not of which.
_OVERLAPPED_SQL: Final = """
SELECT s.step, coalesce(round(1000 * sum(r.value) FILTER (WHERE r.metric = 'Overlapped')), 0)::BIGINT AS hidden
FROM recorded r JOIN steps s ON s.number = try_cast(r.step AS BIGINT) OR s.number IS NULL AND r.step IS NULL
WHERE r.source = 'steps' AND r.value >= 0 GROUP BY 1 ORDER BY 1
"""


def collective_calls(trace: Trace) -> Table:
    """List the collectives.

    Raises:
        MissingInputError: The recording has none.
    """
    rows = trace.once(recorded_calls)
    on_host = rows["device"] == HOST
    columns = {
        **{name: rows[name] for name in ("event", "ts", "dur", "name", "group")},
        **{name: nullable(rows[name], rows[name] < 0) for name in ("device", "step", "seq", "world_size", "bytes")},
        "rank": np.full(on_host.size, trace.ranks[0]),
        "overlapped_ns": nullable(rows["overlapped"], on_host),
        "exposed_ns": nullable(rows["dur"] - rows["overlapped"], on_host),
        "bus_bandwidth": nullable(rows["bus"], np.isnan(rows["bus"])),
        "position": _positions(rows),
    }
    return Table.of(COLLECTIVE_CALLS, columns)


def recorded_calls(trace: Trace) -> Columns:
    """Every collective, with further columns.

    `overlapped` is the time overlapped with compute in ns, `factor` the bus-bandwidth factor, `bus` the bus bandwidth
    in bytes/s; the latter two are NaN where unknown.
    """
    rows = trace.columns(_SQL)
    if not rows["ts"].size:
        raise MissingInputError.of("collectives")
    rows["overlapped"] = np.zeros(rows["ts"].size, np.int64)
    summed = rows["summed"].astype(np.bool_)
    if summed.any():
        _share_overlap(trace, rows, summed)
    if ((rows["device"] != HOST) & ~summed).any():
        for device in trace.once(device_times):
            mine = rows["device"] == (-1 if device.device is None else device.device)
            ts = rows["ts"][mine]
            rows["overlapped"][mine] = device.compute.within(ts, ts + rows["dur"][mine])
    rows["factor"] = _factors(rows)
    rows["bus"] = rate(rows["bytes"], rows["dur"]) * rows["factor"]
    return rows


def _share_overlap(trace: Trace, rows: Columns, summed: NDArray[np.bool_]) -> None:
    """Distribute the overlap of a step over its collectives in proportion to their durations, for recordings of sums.

    Such recordings do not tell when compute ran. Steps without sums get null, as on the host.
    """
    told = trace.columns(_OVERLAPPED_SQL)
    for step, hidden in zip(told["step"].tolist(), told["hidden"].tolist(), strict=True):
        mine = np.flatnonzero(summed & (rows["step"] == step))
        until = np.cumsum(rows["dur"][mine])
        if mine.size and until[-1]:
            # Shares of a running total add up to the whole.
            shared = min(hidden, int(until[-1])) * (until / until[-1])
            rows["overlapped"][mine] = np.diff(np.rint(shared).astype(np.int64), prepend=0)
    rows["device"][summed & ~np.isin(rows["step"], told["step"])] = HOST


def _factors(rows: Columns) -> NDArray[np.float64]:
    name = Codes.of(rows["name"])
    groups = Groups.by(name.code, rows["world_size"])
    pairs = zip(name.at(groups.first), rows["world_size"][groups.first].tolist(), strict=True)
    factors = [bus_factor(*pair) for pair in pairs]
    return np.array([np.nan if factor is None else factor for factor in factors])[groups.index]


def rate(sizes: Times, times: Times) -> NDArray[np.float64]:
    """Bytes per second; NaN where the size is unknown (negative) or no time passed."""
    known = (sizes >= 0) & (times > 0)
    rate = np.full(sizes.size, np.nan)
    rate[known] = sizes[known] * 1e9 / times[known]
    return rate


def _positions(rows: Columns) -> Times:
    """Running number of each call among those of its group and kind."""
    groups = Groups.by(Codes.of(rows["group"]).code, Codes.of(rows["name"]).code)
    order = np.argsort(groups.index, kind="stable")
    positions = np.empty(order.size, np.int64)
    positions[order] = np.arange(order.size) - np.repeat(np.cumsum(groups.count) - groups.count, groups.count)
    return positions


ANALYSES = (Analysis(COLLECTIVE_CALLS, collective_calls),)
