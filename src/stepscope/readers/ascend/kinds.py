"""Recognise the kind of a profiler's file, by the header of a table, the first words of a summary, or its name.

`torch_npu` and MindSpore name a table by its kind (`step_trace_time.csv`), `msprof` by its kind and a time
(`op_summary_20240101120000.csv`), in slices if it is long (`op_summary_slice_0_20240101120000.csv`). A file given by
itself may have any name.
"""

from __future__ import annotations

import re
from typing import Final

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
_NAME: Final = re.compile(r"(?P<stem>[a-z]+[a-z2_]*?)(?P<slice>_slice_\d+)?(?:_\d{8,})?\.(?:csv|json(?P<packed>\.gz)?)")
_FIRST_LINE: Final = 1 << 14


def kind_of_name(name: str) -> str | None:
    """`kernel_details` of `op_summary_slice_0_20240101.csv`, `trace_view` of `trace_view.json.gz`; None for others."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    kind = next((kind for kind, names in _NAMES.items() if match["stem"] in names), None)
    # Traces are read through what unpacks them, small files are not.
    return None if match["packed"] and kind != "trace_view" else kind


def table_kind(head: bytes) -> str | None:
    """The kind of the profiler's table that starts with these bytes; None for other files."""
    line = re.split(rb"[\r\n]", head[:_FIRST_LINE].removeprefix(b"\xef\xbb\xbf"), maxsplit=1)[0]
    text = line.decode("utf-8", "replace")
    return next((kind for kind, columns in _COLUMNS.items() if all(_has(text, column) for column in columns)), None)


def _has(line: str, column: str) -> bool:
    # The pattern is tried at each position: it takes a millisecond where a file is one long line.
    return column in line and re.search(_PREFIX + re.escape(column), line) is not None


def summary_kind(head: bytes) -> str | None:
    """The kind of the profiler's summary that starts with these bytes; None for other files."""
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return None
    return next((kind for kind, words in _WORDS.items() if words in head), None)
