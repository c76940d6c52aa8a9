"""`kernel_details.csv`: core counters of each kernel, and kernels missing from the trace."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.readers.ascend.csvfile import COLUMNS_AT_A_TIME, CsvTable, at_a_time
from stepscope.readers.ascend.vocabulary import COLLECTIVES_OWN, COMM_CORES
from stepscope.store.staging import Staging

_COMM: Final = "(" + ", ".join(f"'{core}'" for core in sorted(COMM_CORES)) + ")"

#: Columns that describe the kernel; all later ones are counters.
_DESCRIPTION: Final = (
    "OP State", "Block Dim", "Block Num", "Mix Block Dim", "Mix Block Num", "HF32 Eligible", "Input Shapes",
    "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats", "Context ID",
    "Wait Time(us)", "Wait Time",
)  # fmt: skip
_NUMBERS: Final = frozenset(name for name in _DESCRIPTION if name.startswith(("Block", "Mix", "Wait")))
_KEYS: Final = frozenset({
    "row", "step id", "device_id", "device id", "model id", "model name", "task id", "stream id", "name", "op name",
    "type", "op type", "accelerator core", "task type", "start time(us)", "start time", "task start time(us)",
    "duration(us)", "duration", "task duration(us)",
})  # fmt: skip

#: The text export's name of a core's total time differs from the database's.
_NAMES: Final = {"aicore_time": "aic_total_time", "aiv_time": "aiv_total_time"}
_NEXT_ID: Final = (
    "SELECT coalesce(max(i) + 1, 0) FROM (SELECT i FROM ascend_host UNION ALL SELECT i FROM ascend_device "
    "UNION ALL SELECT i FROM ascend_parts)"
)
_UNITS: Final = {"us": 1e3, "%": 1e-2, "GB/s": 1e9, "KB": 1024.0}
#: Counters that are taken into memory together: about 40 MB.
_AT_A_TIME: Final = 1 << 21
_METRIC: Final = re.compile(r"(.+?)\((us|%|GB/s|KB)\)")


def metric(column: str) -> tuple[str, float]:
    """A counter's name without its unit, and the factor to the unit of `kernel_metrics`."""
    match = _METRIC.fullmatch(column.strip())
    name, factor = (match[1].strip(), _UNITS[match[2]]) if match else (column.strip(), 1.0)
    return _NAMES.get(name, name), factor


def add_kernel_details(staging: Staging, table: CsvTable) -> None:
    """Complete `ascend_device` from the file, fill `kernel_metrics`, and add kernels missing from the trace."""
    connection = staging.connection
    start = table.nanoseconds("Start Time(us)", "Start Time", "Task Start Time(us)")
    connection.execute(
        f"CREATE TABLE ascend_details AS SELECT row, {start} AS ts, "
        f"{table.nanoseconds('Duration(us)', 'Duration', 'Task Duration(us)')} AS dur, "
        f"coalesce({table.text('Name', 'Op Name')}, '') AS name, {table.text('Type', 'OP Type')} AS op_type, "
        f"{table.text('Accelerator Core', 'Task Type')} AS core, {table.text('Stream ID', 'Stream Id')} AS stream, "
        f"try_cast({table.text('Device_id', 'Device ID')} AS INTEGER) AS device, "
        f"{table.text('Input Data Types')} AS operands, {table.text('HF32 Eligible')} AS hf32, {_args(table)} AS args, "
        f"{table.integer('Step Id', 'Step ID')} AS step "
        f"FROM {table.name}"
    )
    [untimed] = staging.one("SELECT count(*) FROM ascend_details WHERE ts IS NULL")
    staging.observe(
        "rows-untimed", "warning", untimed, "rows of kernel_details.csv have no number as their start time",
        "what they say of their kernels is missing",
    )  # fmt: skip
    _match(staging)
    _add_missing(staging)
    _add_metrics(staging, table)
    _add_steps(staging)
    connection.execute("DROP TABLE ascend_details")
    connection.execute("DROP TABLE ascend_matches")


def _args(table: CsvTable) -> str:
    """SQL for a JSON object of the columns that describe the kernel."""
    pairs = [
        f"'{name}', {table.number(name) if name in _NUMBERS else table.text(name)}"
        for name in _DESCRIPTION
        if table.has(name)
    ]
    return f"json_object({', '.join(pairs)})" if pairs else "NULL::JSON"


def _match(staging: Staging) -> None:
    """Create table `ascend_matches` (row, i): equal name and start in both files, up to rounding to ns."""
    staging.connection.execute(
        "CREATE TABLE ascend_matches AS SELECT row, i FROM ("
        "SELECT d.row, w.i, row_number() OVER (PARTITION BY w.i ORDER BY abs(d.off), d.row) AS a, "
        "row_number() OVER (PARTITION BY d.row ORDER BY abs(d.off), w.i) AS b "
        "FROM (SELECT row, name, ts + off AS ts, off FROM ascend_details, (SELECT unnest([0, 1, -1]) AS off)) d "
        "JOIN ascend_device w ON w.ts = d.ts AND w.name = d.name) WHERE a = 1 AND b = 1"
    )
    # Rows without arguments here have theirs stored with those of other events.
    staging.connection.execute(
        f"UPDATE ascend_device SET op_type = d.op_type, core = CASE WHEN d.core NOT IN {_COMM} THEN d.core END, "
        "operands = d.operands, hf32 = d.hf32, args = CASE WHEN ascend_device.args IS NOT NULL "
        "THEN json_merge_patch(ascend_device.args::JSON, coalesce(d.args, '{}'::JSON))::VARCHAR END "
        "FROM ascend_matches m JOIN ascend_details d USING (row) WHERE m.i = ascend_device.i"
    )


def _add_missing(staging: Staging) -> None:
    """Add rows after the trace's last device event: the file is alone, or the trace is truncated."""
    connection = staging.connection
    [last] = staging.one("SELECT max(ts) FROM ascend_device")
    beyond = "true" if last is None else f"d.ts > {last}"
    left = f"FROM ascend_details d ANTI JOIN ascend_matches m ON m.row = d.row WHERE d.ts IS NOT NULL AND {beyond}"
    [first] = staging.one(_NEXT_ID)
    [device] = staging.one("SELECT coalesce(min(device), 0) FROM ascend_device")
    connection.execute(
        f"CREATE TABLE ascend_added AS SELECT d.row, {first} + row_number() OVER (ORDER BY d.row) - 1 AS i {left}"
    )
    connection.execute(
        "INSERT INTO ascend_device BY NAME SELECT a.i, d.ts, d.dur, "
        f"coalesce(d.device, {device}) AS device, coalesce(d.stream, CASE WHEN d.core IN {_COMM} THEN 'group 0' END, "
        f"'0') AS stream, d.name, CASE WHEN d.core IN {_COMM} OR regexp_matches(d.name, '^(?i:hcom_)') "
        f"AND NOT regexp_matches(d.name, '{COLLECTIVES_OWN}') THEN 'comm' ELSE 'compute' END AS kind, "
        f"d.op_type, CASE WHEN d.core NOT IN {_COMM} THEN d.core END AS core, d.operands, d.hf32, "
        "d.args::VARCHAR AS args "
        "FROM ascend_added a JOIN ascend_details d USING (row)"
    )
    connection.execute(
        "INSERT INTO ascend_collectives SELECT i, NULL, NULL, NULL FROM ascend_device "
        "WHERE kind = 'comm' AND i IN (SELECT i FROM ascend_added)"
    )
    connection.execute("INSERT INTO ascend_matches SELECT row, i FROM ascend_added")
    connection.execute("DROP TABLE ascend_added")
    [unmatched] = staging.one("SELECT count(*) FROM ascend_details d ANTI JOIN ascend_matches m ON m.row = d.row "
                              "WHERE d.ts IS NOT NULL")  # fmt: skip
    staging.observe(
        "kernels-unmatched", "warning", unmatched, "rows of kernel_details.csv have no event in the trace",
        "they are left out; kernels of the trace without a row lack core and counters",
    )  # fmt: skip


def _add_steps(staging: Staging) -> None:
    """Without recorded steps, derive them from the step column: from a step's first row to the next step's first."""
    if staging.one("SELECT count(*) FROM ascend_host WHERE category = 'step'") != (0,):
        return
    [first] = staging.one(_NEXT_ID)
    staging.connection.execute(
        "INSERT INTO ascend_host BY NAME "
        f"SELECT {first} + row_number() OVER (ORDER BY ts) - 1 AS i, ts, "
        "CASE WHEN next_ts >= last THEN next_ts ELSE last END - ts AS dur, 'profiler' AS process, 'steps' AS thread, "
        "'ProfilerStep#' || step AS name, 'step' AS category "
        "FROM (SELECT step, ts, last, CASE WHEN next_step IS NOT NULL THEN next_ts END AS next_ts FROM ("
        "SELECT *, lead(step) OVER (ORDER BY ts) AS next_step, lead(ts) OVER (ORDER BY ts) AS next_ts FROM ("
        "SELECT step, min(ts) AS ts, max(ts + coalesce(dur, 0)) AS last FROM ("
        "SELECT *, sum(new) OVER (ORDER BY ts, row) AS stretch FROM ("
        "SELECT *, (step IS DISTINCT FROM lag(step) OVER (ORDER BY ts, row))::INTEGER AS new FROM ascend_details "
        "WHERE ts IS NOT NULL)) GROUP BY step, stretch)) WHERE step >= 0)"
    )


def _add_metrics(staging: Staging, table: CsvTable) -> None:
    """Insert all columns that are no description as counters; those of cores a kernel does not use are 0."""
    described = {name.lower() for name in _DESCRIPTION} | _KEYS
    columns = [column for column in table.columns if column.lower() not in described]
    width = max(1, min(COLUMNS_AT_A_TIME, _AT_A_TIME // max(1, table.rows)))
    for several in at_a_time(columns, width):
        values = ", ".join(f"{table.number(column)} AS value_{k}" for k, column in enumerate(several))
        event, *found = staging.connection.execute(
            f"SELECT i, {values} FROM ascend_matches JOIN {table.name} USING (row) ORDER BY i"
        ).fetchnumpy().values()  # fmt: skip
        _insert_metrics(staging, event, [metric(column) for column in several], found)


def _insert_metrics(
    staging: Staging, event: NDArray[np.int64], metrics: list[tuple[str, float]], values: list[Any]
) -> None:
    """Insert the values of counters, one after the other, where they are not masked."""
    recorded = [~np.ma.getmaskarray(value) for value in values]
    numbers = [
        np.ma.getdata(value)[kept] * factor for value, kept, (_, factor) in zip(values, recorded, metrics, strict=True)
    ]
    which = np.repeat(np.arange(len(metrics), dtype=np.int32), [one.size for one in numbers])
    names = pa.DictionaryArray.from_arrays(which, pa.array([name for name, _ in metrics]))
    events = np.concatenate([event[kept] for kept in recorded])
    staging.insert("kernel_metrics", pa.table({"event": events, "metric": names, "value": np.concatenate(numbers)}))
