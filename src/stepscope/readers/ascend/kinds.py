"""Recognise the kind of a profiler's file, by the header of a table, the first words of a summary, or its name.

`torch_npu` and MindSpore name a table by its kind (`step_trace_time.csv`), `msprof` by its kind and a time
(`op_summary_20240101120000.csv`), in slices if it is long (`op_summary_slice_0_20240101120000.csv`), and older versions
by device, model and iteration (`op_summary_0_1_1.csv`). A file given by itself may have any name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

#: By kind of table: columns in its header, each at the start of a cell.
_COLUMNS: Final = {
    "kernel_details": ("Name", "Start Time(us)", "Duration(us)"),
    "step_trace_time": ("Computing", "Communication(Not Overlapped)", "Free"),
    "operator_memory": ("Name", "Size(KB)", "Allocation Time(us)"),
    "memory_record": ("Component", "Timestamp(us)", "Total Allocated("),
    "npu_module_mem": ("Component", "Timestamp(us)", "Total Reserved("),
    "op_statistic": ("OP Type", "Count", "Total Time(us)"),
    "api_statistic": ("Level", "API Name", "Time(us)", "Count"),
    "l2_cache": ("Hit Rate", "Victim Rate"),
    "data_preprocess": ("Node", "Compute_time("),
    "operator_details": ("Name", "Host Self Duration(us)"),
    "task_time": ("kernel_name", "kernel_type", "task_time(us)", "task_start(us)"),
}
#: `msprof`'s own names of some tables.
_OTHERWISE: Final = {"kernel_details": ("op_summary",), "data_preprocess": ("aicpu",)}
#: Columns of `op_summary` have an additional word before those of `kernel_details`.
_PREFIX: Final = r"(?:^|,)\"?(?:Op |Task )?"

TABLES: Final = tuple(_COLUMNS)
#: Tables of links, memory and processors: their columns differ among versions, so that only their names tell.
SAMPLES: Final = (
    "nic", "roce", "hccs", "pcie", "sio", "ub", "ddr", "hbm", "llc_read_write", "llc_aicpu", "llc_bandwidth", "npu_mem",
    "soc_pmu", "static_op_mem", "dvpp", "cpu_usage", "process_cpu_usage", "host_cpu_usage", "host_mem_usage",
    "host_network_usage", "host_disk_usage", "sys_mem", "process_mem",
)  # fmt: skip
#: By kind of summary: words unique to it.
_WORDS: Final = {"communication": b'"Communication Time Info"', "communication_matrix": b'"Transport Type"'}
SUMMARIES: Final = tuple(_WORDS)

_NAMES: Final = {kind: (kind, *_OTHERWISE.get(kind, ())) for kind in (*TABLES, *SAMPLES, *SUMMARIES, "trace_view")} | {
    "trace_view": ("trace_view", "msprof")
}
_NAME: Final = re.compile(
    r"(?P<stem>[a-z]+[a-z2_]*?)(?P<of>(?:_\d{1,7}){0,3})(?:_slice_(?P<slice>\d{1,6}))?(?P<time>_\d{8,})?\."
    r"(?:csv|json(?P<packed>\.gz)?)"
)
_FIRST_LINE: Final = 1 << 14


class Named(NamedTuple):
    """What the name of a file tells.

    Attributes:
        kind: What it holds.
        of: Device, model and iteration, as far as the name has them.
        part: Which slice; slices after the first one may lie beside one that is not called so.
        time: Of the export; empty if the name has none.
    """

    kind: str
    of: tuple[int, ...]
    part: int
    time: str


def named(name: str) -> Named | None:
    """What `op_summary_slice_1_20240101120000.csv` tells; None for names of other programs."""
    match = _NAME.fullmatch(name)
    kind = next((kind for kind, names in _NAMES.items() if match["stem"] in names), None) if match else None
    # Traces are read through what unpacks them, small files are not.
    if match is None or kind is None or (match["packed"] and kind != "trace_view"):
        return None
    of = tuple(map(int, match["of"].split("_")[1:]))
    return Named(kind, of, int(match["slice"] or 0), (match["time"] or "").removeprefix("_"))


def kind_of_name(name: str) -> str | None:
    """`kernel_details` of `op_summary_slice_0_20240101.csv`, `trace_view` of `trace_view.json.gz`; None for others."""
    found = named(name)
    return found.kind if found else None


def newest(files: Sequence[tuple[Named, Path]]) -> list[Path]:
    """Of the files of one kind the slices of the last export, in order: the same data may be exported again.

    A file without a time is the framework's own, and goes before those of `msprof`.
    """
    starts: dict[tuple[int, ...], tuple[bool, str]] = {}
    chosen: dict[tuple[tuple[int, ...], int], tuple[tuple[bool, str], Path]] = {}
    for one, path in sorted(files, key=lambda file: (file[0].of, file[0].part)):
        made = (not one.time, one.time)
        first = starts.get(one.of, made) if one.part else max(made, starts.get(one.of, made))
        starts[one.of] = first
        if made >= first and made >= chosen.get((one.of, one.part), (made, path))[0]:
            chosen[one.of, one.part] = (made, path)
    return [path for _, path in chosen.values()]


def table_kind(head: bytes) -> str | None:
    """The kind of the profiler's table that starts with these bytes; None for other files."""
    line = re.split(rb"[\r\n]", head[:_FIRST_LINE].removeprefix(b"\xef\xbb\xbf"), maxsplit=1)[0]
    text = column_name(line.decode("utf-8", "replace"))
    return next((kind for kind, columns in _COLUMNS.items() if all(_has(text, column) for column in columns)), None)


def column_name(written: str) -> str:
    """`Duration(us)` of `Duration (us)`, as other programs that pass tables on write it."""
    return re.sub(r"\s+\(", "(", written.strip())


def _has(line: str, column: str) -> bool:
    # The pattern is tried at each position: it takes a millisecond where a file is one long line.
    return column in line and re.search(_PREFIX + re.escape(column), line) is not None


def summary_kind(head: bytes) -> str | None:
    """The kind of the profiler's summary that starts with these bytes; None for other files."""
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return None
    return next((kind for kind, words in _WORDS.items() if words in head), None)
