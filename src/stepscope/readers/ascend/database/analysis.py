"""The sums of `analysis.db`, as the text export has them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from stepscope.model.sums.rank import SumRow
from stepscope.readers.ascend.database.tables import AscendDatabase
from stepscope.readers.ascend.tables.limits import real

#: Key columns of the tables of sums; all others are numbers.
_SUMS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "StepTraceTime": ("steps", ()),
    "CommAnalyzerTime": ("communication", ("type", "hccl_op_name", "group_name")),
    "CommAnalyzerBandwidth": ("bandwidth", ("type", "hccl_op_name", "group_name", "transport_type")),
    "CommAnalyzerMatrix": (
        "matrix", ("type", "hccl_op_name", "group_name", "src_rank", "dst_rank", "transport_type", "op_name"),
    ),
}  # fmt: skip

#: Columns by the names that the text export has for the same numbers.
_METRICS: Final = {
    "computing": "Computing", "communication": "Communication", "overlapped": "Overlapped", "free": "Free",
    "communication_not_overlapped": "Communication(Not Overlapped)", "stage": "Stage", "bubble": "Bubble",
    "communication_not_overlapped_and_exclude_receive": "Communication(Not Overlapped and Exclude Receive)",
    "preparing": "Preparing", "start_timestamp": "Start Timestamp(us)", "elapse_time": "Elapse Time(ms)",
    "wait_time": "Wait Time(ms)", "synchronization_time": "Synchronization Time(ms)", "idle_time": "Idle Time(ms)",
    "transit_time": "Transit Time(ms)", "transit_size": "Transit Size(MB)", "bandwidth": "Bandwidth(GB/s)",
    "large_packet_ratio": "Large Packet Ratio",
}  # fmt: skip

#: Columns about packets of one size, one row per size.
_PACKETS: Final = {"count": "Count", "total_duration": "Duration(ms)"}
#: Columns that hold numbers in every version.
_AMOUNTS: Final = frozenset({*_METRICS, *_PACKETS})


def analysis_rows(database: AscendDatabase, kept: Collection[str] = ()) -> tuple[list[SumRow], dict[str, str]]:
    """The sums of `analysis.db` except sources in `kept`, and the groups of collectives."""
    found: list[SumRow] = []
    groups: dict[str, str] = {}
    for table, (source, keys) in _SUMS.items():
        if source in kept:
            continue
        columns = database.columns.get(table, ())
        numbers = [c for c in columns if c not in (*keys, "step", "deviceId", "device_id", "package_size")]
        others = [c for c in ("package_size",) if c in columns]
        if not set(keys) <= set(columns):
            continue
        steps = ("step",) if "step" in columns else ()
        rows: list[SumRow] = []
        for values in database.rows(table, *steps, *keys, *others, *numbers):
            cells = dict(zip((*steps, *keys, *others, *numbers), values, strict=True))
            step = re.sub(r"^step", "", str(cells.get("step") or "")) or None
            subject = _subject(source, cells)
            rows += [
                _row(source, step, subject, column, real(cells[column]), cells)
                for column in numbers
                if cells[column] is not None and (column in _AMOUNTS or isinstance(cells[column], (int, float)))
            ]
            if source == "matrix" and cells["op_name"]:
                rows.append(("matrix operation", step, subject, str(cells["op_name"]), 1.0))
            if source == "communication":
                groups[str(cells["hccl_op_name"])] = str(cells["group_name"])
        found += rows
    return found, groups


def _row(source: str, step: str | None, subject: str, column: str, value: float, cells: dict[str, Any]) -> SumRow:
    if column in _PACKETS:
        return "packets", step, f"{subject} {cells.get('package_size')} MB", _PACKETS[column], value
    return source, step, subject, _METRICS.get(column, column), value


def _subject(source: str, cells: dict[str, Any]) -> str:
    """The subject as in the text export: `collective hcom_allReduce__586_0_1@175... HCCS`."""
    if source == "steps":
        return ""
    subject = f"{cells['type']} {cells['hccl_op_name']}@{cells['group_name']}"
    if source == "bandwidth":
        return f"{subject} {cells['transport_type']}"
    if source == "matrix":
        return f"{subject} {cells['src_rank']}-{cells['dst_rank']} {cells['transport_type']}"
    return subject
