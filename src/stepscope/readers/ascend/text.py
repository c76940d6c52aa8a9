"""The text export: a trace, CSV files and JSON summaries, any of which may be missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from stepscope.readers.ascend import memory, summaries
from stepscope.readers.ascend.csv_load import load_slices
from stepscope.readers.ascend.csvfile import CsvTable, observe_cells
from stepscope.readers.ascend.files import Result
from stepscope.readers.ascend.kernel_details import add_kernel_details
from stepscope.readers.ascend.kinds import SAMPLES
from stepscope.readers.ascend.tables import samples
from stepscope.readers.ascend.tables.static_memory import add_static_memory
from stepscope.readers.ascend.tables.task_time import add_task_time
from stepscope.readers.ascend.trace_view import read_trace
from stepscope.readers.protocol import Progress
from stepscope.store.staging import Staging


def read_text(result: Result, staging: Staging, progress: Progress) -> dict[str, str]:
    """Gather all data of the files; returns the group name of each collective where recorded."""
    if result.trace:
        read_trace((result.trace, *result.slices), staging, progress)
    elif "operator_details" in result.tables and "trace_view.json" not in result.emptied:
        staging.observe(
            "no-trace-view", "warning", 1, "there is no trace_view.json",
            "operator_details.csv has no times: operators, calls and steps are missing; keep trace_view.json",
        )  # fmt: skip
    tables: dict[str, Callable[[Staging, CsvTable], None]] = {
        "kernel_details": add_kernel_details,
        "task_time": add_task_time,
        "l2_cache": summaries.add_l2_cache,
        "operator_memory": memory.read_operator_memory,
        "memory_record": memory.read_components,
        "npu_module_mem": memory.read_modules,
        **{kind: partial(summaries.add_table, kind=kind) for kind in summaries.TABLES},
        "data_preprocess": summaries.add_ai_cpu,
        **{kind: partial(samples.add_samples, kind=kind) for kind in SAMPLES},
        "static_op_mem": add_static_memory,
    }
    for kind, add in tables.items():
        paths = result.tables.get(kind, ())
        table = load_slices(staging, paths, "ascend_file")
        if table is not None:
            add(staging, table)
            observe_cells(staging, table, paths[0])
            progress(sum(path.stat().st_size for path in paths))
            staging.connection.execute("DROP TABLE ascend_file")
    groups: dict[str, str] = {}
    if "communication" in result.summaries:
        groups = summaries.add_communication(staging, result.summaries["communication"])
    if "communication_matrix" in result.summaries:
        summaries.add_matrix(staging, result.summaries["communication_matrix"])
    return groups
