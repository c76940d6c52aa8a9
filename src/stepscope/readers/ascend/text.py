"""The text export: a trace, CSV files and JSON summaries, any of which may be missing."""

from __future__ import annotations

from stepscope.readers.ascend import memory, summaries
from stepscope.readers.ascend.csvfile import load
from stepscope.readers.ascend.files import Result
from stepscope.readers.ascend.kernel_details import add_kernel_details
from stepscope.readers.ascend.trace_view import read_trace
from stepscope.readers.protocol import Progress
from stepscope.store.staging import Staging


def read_text(result: Result, staging: Staging, progress: Progress) -> dict[str, str]:
    """Gather everything in the files; returns the name of each collective's group, as far as it is told."""
    if result.trace:
        read_trace(result.trace, staging, progress)
    elif "operator_details" in result.tables:
        staging.observe(
            "no-trace-view", "warning", 1, "there is no trace_view.json",
            "operator_details.csv tells no times: operators, calls and steps are missing; keep trace_view.json",
        )  # fmt: skip
    for kind, add in (
        ("kernel_details", add_kernel_details),
        ("l2_cache", summaries.add_l2_cache),
        ("operator_memory", memory.read_operator_memory),
        ("memory_record", memory.read_components),
        ("npu_module_mem", memory.read_modules),
    ):
        table = load(staging, result.tables[kind], "ascend_file") if kind in result.tables else None
        if table is not None:
            add(staging, table)
            progress(result.tables[kind].stat().st_size)
            staging.connection.execute("DROP TABLE ascend_file")
    for kind in summaries.TABLES:
        table = load(staging, result.tables[kind], "ascend_file") if kind in result.tables else None
        if table is not None:
            if kind == "data_preprocess":
                summaries.add_ai_cpu(staging, table)
            else:
                summaries.add_table(staging, table, kind)
            staging.connection.execute("DROP TABLE ascend_file")
    groups: dict[str, str] = {}
    if "communication" in result.summaries:
        groups = summaries.add_communication(staging, result.summaries["communication"])
    if "communication_matrix" in result.summaries:
        summaries.add_matrix(staging, result.summaries["communication_matrix"])
    return groups
