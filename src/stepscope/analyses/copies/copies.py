"""Copies and memsets by direction and kind of memory: bytes, bandwidth, and whether the host waited."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, nonempty, nullable, ordered_table, shares
from stepscope.analyses.shared.host_waits import blocking_copies
from stepscope.analyses.shared.needs import need_device
from stepscope.model.coding import Codes
from stepscope.model.events.columns import Ids
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, ns, number, size, summary_columns
from stepscope.model.table import Table
from stepscope.model.tables import COPIES as RECORDED
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

COPIES = TableSchema(
    "copies",
    "One row per direction and kinds of memory; `name` says both.",
    (
        *summary_columns("kind of copy", "the durations of all copies and memsets; concurrent ones each count in full"),
        RANK,
        RECORDED["direction"],
        RECORDED["src_kind"],
        RECORDED["dst_kind"],
        size("bytes", "Bytes moved or set, as far as recorded; null if for none.", nullable=True),
        size("min_bytes", "Smallest.", nullable=True),
        size("median_bytes", "Median size (the lower of the two middle ones).", nullable=True),
        size("max_bytes", "Largest.", nullable=True),
        number("bandwidth", "Bytes over duration of those whose bytes are recorded and whose duration is not 0; null "
               "if there is none, or if no device is as fast: then durations are not those of the whole.", "bytes/s",
               nullable=True),
        Column("blocking", "int64", "Copies that the launch call waited for; null if no launch is recorded.", "count",
               nullable=True),
        ns("blocked_ns", "Host time of those calls."),
    ),
)  # fmt: skip

_SQL = """
SELECT k.event, coalesce(c.direction, CASE k.kind WHEN 'set' THEN 'set' ELSE 'unknown' END) AS direction,
    coalesce(c.src_kind, '') AS src_kind, coalesce(c.dst_kind, '') AS dst_kind, coalesce(c.bytes, k.bytes, -1) AS bytes
FROM kernels k LEFT JOIN copies c ON c.event = k.event WHERE k.kind IN ('copy', 'set')
"""
_ENDS = ("src_kind", "dst_kind")
#: Bytes per ns that no memory reaches (B300: 8,000); old recorders give memsets a microsecond each.
_FASTEST = 20_000


def copies(trace: Trace) -> Table:
    """Sum up copies and memsets; no rows for a job that has none.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    rows = trace.columns(_SQL)
    work = DeviceWork.of(trace)
    at = work.rows(trace, rows["event"])
    words = {key: Codes.of(rows[key]) for key in ("direction", *_ENDS)}
    groups = Groups.by(*(codes.code for codes in words.values()))
    shown = {key: codes.at(groups.first) for key, codes in words.items()}
    dur = work.dur[at]
    total = groups.sum(dur)
    blocked = np.isin(at, blocking_copies(trace))
    launched = groups.sum(work.launch[at] >= 0) > 0
    columns = {
        **groups.summary(dur),
        "name": [_name(*kinds) for kinds in zip(*shown.values(), strict=True)],
        "share": shares(total, int(total.sum())),
        "rank": np.full(total.size, trace.ranks[0]),
        "direction": shown["direction"],
        **{key: nonempty(shown[key]) for key in _ENDS},
        **_sizes(groups, rows["bytes"], dur),
        "blocking": nullable(groups.sum(blocked), ~launched),
        "blocked_ns": groups.sum(np.where(blocked, np.maximum(work.call_ns[at], 0), 0)),
    }
    return ordered_table(COPIES, columns)


def _name(direction: str, src: str, dst: str) -> str:
    return f"{direction} ({src or 'unknown'} -> {dst or 'unknown'})" if src or dst else direction


def _sizes(groups: Groups, bytes_: Ids, dur: Times) -> dict[str, list[Any]]:
    """Total, least, median and largest size of each group in bytes, and its bandwidth."""
    known = bytes_ >= 0
    timed = known & (dur > 0)
    moved, took = groups.sum(np.where(timed, bytes_, 0)), groups.sum(np.where(timed, dur, 0))
    sizes = groups.summary_of(known, bytes_[known])
    pairs = zip(moved.tolist(), took.tolist(), strict=True)
    return {
        "bytes": sizes["total_ns"],
        "min_bytes": sizes["min_ns"],
        "median_bytes": sizes["median_ns"],
        "max_bytes": sizes["max_ns"],
        "bandwidth": [1e9 * size / time if time and size <= _FASTEST * time else None for size, time in pairs],
    }


ANALYSES = (Analysis(COPIES, copies),)
