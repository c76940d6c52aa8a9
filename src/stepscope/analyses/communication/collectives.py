"""Collectives summed up and call by call: duration, size, bus bandwidth, overlap with compute."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.grouping import Groups, nullable, ordered_table, shares
from stepscope.model.bus import bus_factor
from stepscope.model.coding import Codes
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, count, ident, ns, number, size, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

_DEVICE: Final = Column("device", "int32", "Device index; null on the host or if not recorded.", "", True)
_WORLD: Final = Column("world_size", "int32", "Ranks of the group; null if not recorded.", "", True)
_BANDWIDTHS: Final = (
    "of the whole duration, with the wait for late ranks in it; null where size or duration is unknown."
)

COLLECTIVES = TableSchema(
    "collectives",
    "Collectives by kind, process group and size, over the whole recording. Durations are those on this rank: the "
    "wait for the last rank is part of them.",
    (
        *summary_columns("collective", "the time of all collectives"),
        RANK,
        _DEVICE,
        text("group", "Process group, `default` where not recorded; of one that is called by a long number, what it is "
             "for and its ranks."),
        _WORLD,
        text("size_class", "Range of sizes, such as `1 to 16 MiB`; `unknown` where not recorded."),
        size("bytes", "Sum of the sizes; null where unknown.", nullable=True),
        ns("overlapped_ns", "The part of total_ns during which compute ran on the device; null on the host.",
           nullable=True),
        ns("exposed_ns", "total_ns - overlapped_ns; null on the host.", nullable=True),
        number("algorithm_bandwidth", f"bytes / total_ns: {_BANDWIDTHS}", "bytes/s", nullable=True),
        number("bus_bandwidth", f"Algorithm bandwidth times the factor of `bus_factor`: {_BANDWIDTHS}", "bytes/s",
               nullable=True),
        number("best_bus_bandwidth", "Bus bandwidth of the fastest call, which waited the least; null likewise.",
               "bytes/s", nullable=True),
    ),
)  # fmt: skip

COLLECTIVE_CALLS = TableSchema(
    "collective_calls",
    "One row per collective, in time order.",
    (
        ident("event", "The device event; the host event where no device event exists."),
        RANK,
        ns("ts", "Start."),
        ns("dur", "Duration on this rank, the wait for the last rank included."),
        _DEVICE,
        Column("step", "int32", "Step, as in `steps`; null outside every step.", "", True),
        text("name", "Kind of collective."),
        text("group", "Process group, `default` where not recorded."),
        Column("seq", "int64", "Sequence number in the group; null if not recorded.", "", True),
        _WORLD,
        size("bytes", "Size: the larger of input and output; null if not recorded.", nullable=True),
        ns("overlapped_ns", "The part of dur during which compute ran on the device; null on the host.", nullable=True),
        ns("exposed_ns", "dur - overlapped_ns; null on the host.", nullable=True),
        number("bus_bandwidth", f"bytes / dur times the factor of `bus_factor`: {_BANDWIDTHS}", "bytes/s",
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
_HOST: Final = -2
#: HCCL's groups are called by hashes of 19 digits.
_NUMBERED_SQL: Final = """
SELECT "group", any_value(description) AS description, any_value(ranks) AS ranks FROM groups
WHERE description <> '' AND regexp_full_match("group", '\\d{8,}') GROUP BY 1 ORDER BY 1
"""
_HASH: Final = re.compile(r"\d{12,}")
_RANKS_SHOWN: Final = 8
#: Of a rank of sums it is told how much of each step's communication was overlapped, in µs, not of which.
_OVERLAPPED_SQL: Final = """
SELECT s.step, coalesce(round(1000 * sum(r.value) FILTER (WHERE r.metric = 'Overlapped')), 0)::BIGINT AS hidden
FROM recorded r JOIN steps s ON s.number = try_cast(r.step AS BIGINT) OR s.number IS NULL AND r.step IS NULL
WHERE r.source = 'steps' AND r.value >= 0 GROUP BY 1 ORDER BY 1
"""

#: Upper limits of the size classes. Below 64 KiB latency rules, above 16 MiB bandwidth does.
_CLASSES: Final = (
    (4 << 10, "up to 4 KiB"), (64 << 10, "4 to 64 KiB"), (1 << 20, "64 KiB to 1 MiB"), (16 << 20, "1 to 16 MiB"),
    (256 << 20, "16 to 256 MiB"), (2**63 - 1, "over 256 MiB"),
)  # fmt: skip

Columns = dict[str, NDArray[Any]]


def collectives(trace: Trace) -> Table:
    """Sum the collectives up.

    Raises:
        MissingInputError: The recording has none.
    """
    rows = trace.once(_calls)
    group, name = Codes.of(rows["group"]), Codes.of(rows["name"])
    sizes, known = rows["bytes"], rows["bytes"] >= 0
    size_class = np.where(known, np.searchsorted([limit for limit, _ in _CLASSES], sizes), len(_CLASSES))
    groups = Groups.by(name.code, rows["device"] - _HOST, group.code, rows["world_size"], size_class)
    first, total = groups.first, groups.sum(rows["dur"])
    on_host = rows["device"][first] == _HOST
    overlapped = groups.sum(rows["overlapped"])
    moved = np.where(known[first], groups.sum(np.maximum(sizes, 0)), -1)
    algorithm = _rate(moved, total)
    best = np.full(first.size, -1.0)
    np.maximum.at(best, groups.index, np.nan_to_num(rows["bus"], nan=-1.0))
    labels = _labels(trace, group.at(first))
    columns = {
        **groups.summary(rows["dur"]),
        "name": name.at(first),
        "share": shares(total, int(total.sum())),
        "rank": np.full(first.size, trace.ranks[0]),
        "device": nullable(rows["device"][first], rows["device"][first] < 0),
        "group": [labels.get(one, one) for one in group.at(first)],
        "world_size": nullable(rows["world_size"][first], rows["world_size"][first] < 0),
        "size_class": [[*(label for _, label in _CLASSES), "unknown"][i] for i in size_class[first].tolist()],
        "bytes": nullable(moved, moved < 0),
        "overlapped_ns": nullable(overlapped, on_host),
        "exposed_ns": nullable(total - overlapped, on_host),
        "algorithm_bandwidth": nullable(algorithm, np.isnan(algorithm)),
        "bus_bandwidth": nullable(algorithm * rows["factor"][first], np.isnan(algorithm * rows["factor"][first])),
        "best_bus_bandwidth": nullable(best, best < 0),
    }
    return ordered_table(COLLECTIVES, columns, ("device", "group", "bytes"))


def _labels(trace: Trace, groups: Iterable[str]) -> dict[str, str]:
    """Labels for groups that are named by long numbers: what the group is for, and its ranks, as `pp of ranks 0, 2`.

    A group that the recording does not describe is labelled by its last digits, which its operations have in their
    names.
    """
    found = {group: f"group {group[-3:]}" for group in groups if _HASH.fullmatch(group)}
    for row in trace.rows(_NUMBERED_SQL):
        ranks = row["ranks"] or []
        shown = ", ".join(map(str, ranks[:_RANKS_SHOWN])) + ", …" * (len(ranks) > _RANKS_SHOWN)
        found[row["group"]] = f"{row['description']} of ranks {shown}" if ranks else str(row["description"])
    # Two groups of one name and the same ranks are still two.
    twice = {label for label in found.values() if list(found.values()).count(label) > 1}
    return {group: label for group, label in found.items() if label not in twice}


def collective_calls(trace: Trace) -> Table:
    """List the collectives.

    Raises:
        MissingInputError: The recording has none.
    """
    rows = trace.once(_calls)
    on_host = rows["device"] == _HOST
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


def _calls(trace: Trace) -> Columns:
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
    if ((rows["device"] != _HOST) & ~summed).any():
        for device in trace.once(device_times):
            mine = rows["device"] == (-1 if device.device is None else device.device)
            ts = rows["ts"][mine]
            rows["overlapped"][mine] = device.compute.within(ts, ts + rows["dur"][mine])
    rows["factor"] = _factors(rows)
    rows["bus"] = _rate(rows["bytes"], rows["dur"]) * rows["factor"]
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
    rows["device"][summed & ~np.isin(rows["step"], told["step"])] = _HOST


def _factors(rows: Columns) -> NDArray[np.float64]:
    name = Codes.of(rows["name"])
    groups = Groups.by(name.code, rows["world_size"])
    pairs = zip(name.at(groups.first), rows["world_size"][groups.first].tolist(), strict=True)
    factors = [bus_factor(*pair) for pair in pairs]
    return np.array([np.nan if factor is None else factor for factor in factors])[groups.index]


def _rate(sizes: Times, times: Times) -> NDArray[np.float64]:
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


ANALYSES = (Analysis(COLLECTIVES, collectives), Analysis(COLLECTIVE_CALLS, collective_calls))
