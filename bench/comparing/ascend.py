"""Results of the Ascend profiler, text or database, that take plants as a trace of PyTorch does.

Sums that the profiler wrote beside its events (`step_trace_time.csv`, `communication.json`, `analysis.db`, ...) are
left out of what is written: they would contradict what is planted.
"""

from __future__ import annotations

import csv
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from bench.comparing.trace import PlantedTrace
from bench.kineto_json import Event, Timeline
from stepscope.ingest import Options, open_trace
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps

#: What calls are named that plants put in.
_CALLS: Final = {
    "cudaDeviceSynchronize": "aclrtSynchronizeDevice", "cudaStreamSynchronize": "aclrtSynchronizeStream",
    "cudaMalloc": "aclrtMalloc", "cudaMemcpyAsync": "aclrtMemcpyAsync",
}  # fmt: skip
#: Columns of sizes, by table.
_SIZES: Final = {
    "OP_MEMORY": ("size", "allocationTotalAllocated", "allocationTotalReserved", "allocationTotalActive",
                  "releaseTotalAllocated", "releaseTotalReserved", "releaseTotalActive"),
    "MEMORY_RECORD": ("totalAllocated", "totalReserved", "totalActive"),
    "NPU_OP_MEM": ("size", "totalAllocate", "totalReserve"),
}  # fmt: skip


class PlantedFolder(PlantedTrace):
    """A rank's folder; see `planted_folder`."""

    calls = _CALLS
    queued = True
    #: How many times as large all allocations are.
    larger = 1.0

    def enlarge(self, factor: float) -> bool:
        """Make all allocations so many times as large."""
        self.larger = factor
        return True

    def copy(self) -> PlantedFolder:
        """The same once more."""
        found = type(self).__new__(type(self))
        found.__dict__ |= self.__dict__
        found.steps = list(self.steps)
        events = [{**one, "args": {**(one.get("args") or {})}} for one in self.timeline.events]
        found.timeline = Timeline(self.timeline.head, events, self.timeline.bare)
        return found

    def _placed(self) -> None:
        kernels = [one["ts"] for one in self.kernels() if one["cat"] == "kernel"]
        self.origin = min(kernels)
        with open_trace(self.source, Options(cache=False)) as trace:
            one = trace.rank(trace.ranks[0])
            steps, work = Steps.of(one), DeviceWork.of(one)
            first = int(work.ts[work.are("compute")].min())
            kept = steps.found & ~steps.partial
            windows = zip(steps.start[kept].tolist(), steps.end[kept].tolist(), strict=True)
            self.steps = [(start - first + self.origin, end - first + self.origin) for start, end in windows]

    def _folder(self, path: Path, without: Sequence[str]) -> Path:
        place = path.with_suffix("")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.source, place, ignore=shutil.ignore_patterns(*without))
        for one in place.rglob("*"):
            one.chmod(0o755 if one.is_dir() else 0o644)
        place.chmod(0o755)
        return place


def planted_folder(source: Path) -> PlantedFolder:
    """A rank's folder, to be changed in place."""
    return PlantedText(source) if list(source.rglob("trace_view.json")) else PlantedTables(source)


class PlantedText(PlantedFolder):
    """`trace_view.json` with `kernel_details.csv` and the memory's tables."""

    def __init__(self, source: Path) -> None:
        """Read the files."""
        self.source = source
        [path] = source.rglob("trace_view.json")
        self.timeline = Timeline.load(path)
        pids = {
            one["pid"]: one["args"]["name"]
            for one in self.timeline.events
            if one.get("ph") == "M" and one["name"] == "process_name"
        }
        self._timed = {
            "kernel_details.csv": ("Start Time(us)",),
            "operator_memory.csv": ("Allocation Time(us)", "Release Time(us)", "Active Release Time(us)"),
            "memory_record.csv": ("Timestamp(us)",),
        }
        self.rows: dict[str, list[dict[str, str]]] = {}
        for name in self._timed:
            for file in source.rglob(name):
                with file.open(newline="", encoding="utf-8-sig") as lines:
                    self.rows[name] = list(csv.DictReader(lines))
        rows: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        for i, row in enumerate(self.rows.get("kernel_details.csv", ())):
            rows[row["Name"], _ns(row["Start Time(us)"])].append(i)
        starts = {}
        for one in self.timeline.events:
            if one.get("ph") == "M" or "ts" not in one:
                continue
            one["was"] = one.get("cat")
            one["cat"] = _category(one, str(pids.get(one["pid"])))
            if one["ph"] == "X" and (mine := rows.get((str(one["name"]), one["ts"]))) and one["cat"] != "runtime":
                one["row"] = mine[0]
            if one["ph"] == "X" and one["cat"] in ("kernel", "gpu_memcpy", "gpu_user_annotation"):
                starts.setdefault((one["pid"], one["tid"], one["ts"]), one)
            if one["ph"] == "X" and "connection_id" in (one.get("args") or {}):
                one["args"]["correlation"] = one["args"]["connection_id"]
        for one in self.timeline.events:
            if one.get("ph") == "f" and (work := starts.get((one["pid"], one["tid"], one["ts"]))) is not None:
                work.setdefault("key", f"{work['pid']} {work['tid']} {work['ts']}")
                one["of"] = work["key"]
        for name in ("operator_memory.csv", "memory_record.csv"):
            for i, row in enumerate(self.rows.get(name, ())):
                self.timeline.events += [
                    {"ph": "row", "name": name, "cat": "memory", "ts": _ns(row[column]), "row": (name, i, column),
                     "pid": 0, "tid": 0}
                    for column in self._timed[name] if row.get(column, "").strip()
                ]  # fmt: skip
        self._placed()

    def save(self, path: Path) -> Path:
        """Write a folder of the path's name."""
        place = self._folder(path, ("step_trace_time.csv", "communication*.json", "op_statistic.csv", "*.db",
                                    "api_statistic.csv", "operator_details.csv"))  # fmt: skip
        [view] = place.rglob("trace_view.json")
        moved = {one["key"]: one["ts"] for one in self.timeline.events if "key" in one}
        details, events = [], []
        tables = {name: [dict(row) for row in rows] for name, rows in self.rows.items()}
        for one in self.timeline.events:
            if one.get("ph") == "row":
                name, i, column = one["row"]
                tables[name][i][column] = _us(one["ts"])
                continue
            if "row" in one:
                row = self.rows["kernel_details.csv"][one["row"]]
                details.append(row | {"Name": one["name"], "Start Time(us)": _us(one["ts"]),
                                      "Duration(us)": _us(one["dur"])})  # fmt: skip
            if "of" in one and one["of"] not in moved:
                continue
            events.append(_as_written(one, moved))
        if "kernel_details.csv" in tables:
            tables["kernel_details.csv"] = sorted(details, key=lambda row: Decimal(row["Start Time(us)"]))
        Timeline(self.timeline.head, events, self.timeline.bare).save(view)
        for name, rows in tables.items():
            if name != "kernel_details.csv" and self.larger != 1:
                rows = [{key: _grown(key, value, self.larger) for key, value in row.items()} for row in rows]
            [file] = place.rglob(name)
            with file.open("w", newline="", encoding="utf-8") as out:
                writer = csv.DictWriter(out, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        return place


def with_steps(source: Path, number: int, place: Path) -> Path:
    """A rank of text whose only step is there so many times, one after the other; written as a folder of that path."""
    one = PlantedText(source)
    every = one.timeline.events
    [start, number_of] = next(
        [event["ts"], int(str(event["name"]).partition("#")[2])]
        for event in every if event.get("ph") == "X" and str(event["name"]).startswith("ProfilerStep#")
    )  # fmt: skip
    again = [event for event in every if event.get("ph") in ("X", "s", "f", "row") and event["ts"] >= start]
    period = max(event["ts"] + event.get("dur", 0) for event in again) - start + 100_000
    for i in range(1, number):
        at = {name: len(rows) for name, rows in one.rows.items()}
        for name, rows in one.rows.items():
            known = rows[: at[name] // i]
            one.rows[name] = rows + [
                row | {"Step Id": str(number_of + i)} if "Step Id" in row else dict(row) for row in known
            ]
        for event in again:
            found = {**event, "ts": event["ts"] + i * period, "args": dict(event.get("args") or {})}
            for key in ("connection_id", "correlation_id", "correlation", "Python id", "Python parent id"):
                if key in found["args"] and int(found["args"][key]) >= 0:
                    found["args"][key] = int(found["args"][key]) + i * _FAR
            if int(found["args"].get("Sequence number", -1)) >= 0:
                found["args"]["Sequence number"] = int(found["args"]["Sequence number"]) + i * 10_000
            if str(event["name"]).startswith("ProfilerStep#"):
                found["name"] = f"ProfilerStep#{number_of + i}"
            if "id" in found:
                found["id"] = str(int(found["id"]) + i * _FAR)
            if str(event["name"]).startswith("HostToDevice"):
                found["name"] = f"HostToDevice{found['id']}"
            for key in ("key", "of"):
                if key in found:
                    found[key] = f"{found[key]} {i}"
            if "row" in found:
                if found["ph"] == "row":
                    name, row, column = found["row"]
                    found["row"] = name, row + at[name], column
                else:
                    found["row"] += at["kernel_details.csv"]
            every.append(found)
    return one.save(place)


#: Apart from any identifier of a step.
_FAR: Final = 10**13


def _category(one: Event, process: str) -> str:
    """Of an event, as PyTorch's traces have them."""
    if one["ph"] != "X":
        return str(one.get("cat", ""))
    kind = str((one.get("args") or {}).get("Task Type", ""))
    if process == "Ascend Hardware":
        if "MEMCPY" in kind or "SDMA" in kind:
            return "gpu_memcpy"
        return "kernel" if kind.startswith(("AI_", "KERNEL_", "MIX_", "STARS_COMMON", "AI_CPU")) else _MARK
    if process in ("HCCL", "Communication"):
        return "kernel" if str(one["name"]).startswith("hcom") else _MARK
    if process == "Overlap Analysis":
        return _MARK
    return "runtime" if process == "CANN" else str(one.get("cat", ""))


#: What lies on a device and is no work.
_MARK: Final = "gpu_user_annotation"


def _as_written(one: Event, moved: dict[str, int]) -> Event:
    if "was" not in one and one.get("ph") == "M":
        return one
    found = {key: value for key, value in one.items() if key not in ("was", "row", "key", "of")}
    if one.get("was") is None:
        found.pop("cat", None)
    else:
        found["cat"] = one["was"]
    if "of" in one:
        found["ts"] = moved[one["of"]]
    args = {key: value for key, value in (one.get("args") or {}).items() if key != "correlation"}
    if one["cat"] == "runtime" and one.get("ph") == "X" and "level" not in args:
        args |= {"level": "acl", "id": one["name"], "Mode": "ACL_RTS", "Thread Id": one["tid"]}
        found["name"] = f"AscendCL@{one['name']}"
    if args or "args" in found:
        found["args"] = args
    if one.get("name") == "torch_to_npu" and one.get("ph") in ("s", "f"):
        found["id"] = str(one["id"])
    return found


def _grown(column: str, value: str, factor: float) -> str:
    return str(float(value) * factor) if value.strip() and ("(KB)" in column or "(MB)" in column) else value


def _ns(us: str) -> int:
    return int(Decimal(us.strip()) * 1000)


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


class PlantedTables(PlantedFolder):
    """`ascend_pytorch_profiler_*.db`."""

    def __init__(self, source: Path) -> None:
        """Read the database."""
        self.source = source
        [path] = source.rglob("ascend_pytorch_profiler*.db")
        with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as database:
            database.row_factory = sqlite3.Row
            texts = dict(database.execute("SELECT id, value FROM STRING_IDS").fetchall())
            kernels = dict(database.execute("SELECT globalTaskId, name FROM COMPUTE_TASK_INFO").fetchall())
            moving = {one for (one,) in database.execute("SELECT globalTaskId FROM COMMUNICATION_TASK_INFO")}
            events: list[Event] = []
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                for columns in _times(database, table):
                    events += _rows(database, table, columns, texts)
        for one in events:
            if one["row"][0] != "TASK":
                continue
            task, kind = one.pop("task"), one.pop("kind")
            one["cat"] = (
                "kernel"
                if task in kernels
                else _MARK
                if task in moving
                else "gpu_memcpy"
                if "MEMCPY" in kind
                else _MARK
            )
            one["name"] = one["was"] = texts.get(kernels.get(task), kind)
        self.timeline = Timeline({}, events)
        self._placed()

    def save(self, path: Path) -> Path:
        """Write a folder of the path's name."""
        place = self._folder(path, ("analysis.db", "*.db-shm", "*.db-wal", "*.csv", "*.json.bak"))
        [file] = place.rglob("ascend_pytorch_profiler*.db")
        kept: defaultdict[tuple[str, tuple[str, ...]], dict[int, Event]] = defaultdict(dict)
        added: list[Event] = []
        for one in self.timeline.events:
            table, row, columns = one["row"]
            if row in kept[table, columns]:
                added.append(one)
            else:
                kept[table, columns][row] = one
        with sqlite3.connect(file) as database:
            for (table, columns), rows in kept.items():
                _moved(database, table, columns, rows)
                if self.larger != 1 and table in _SIZES:
                    marks = ", ".join(f'"{one}" = CAST("{one}" * {self.larger} AS INTEGER)' for one in _SIZES[table])
                    database.execute(f'UPDATE "{table}" SET {marks}')
            for one in added:
                _add(database, one)
            for (table, _), rows in kept.items():
                for row, one in rows.items():
                    if one["name"] != one["was"] and table == "TASK":
                        _rename(database, row, one["name"])
            if "OVERLAP_ANALYSIS" in {table for table, _ in kept}:
                database.execute("DELETE FROM OVERLAP_ANALYSIS")
        database.close()
        return place


def _moved(database: sqlite3.Connection, table: str, columns: tuple[str, ...], rows: dict[int, Event]) -> None:
    marks = ", ".join(f'"{column}" = ?' for column in columns)
    times = [((one["ts"], one["ts"] + one.get("dur", 0))[: len(columns)], row) for row, one in rows.items()]
    database.executemany(f'UPDATE "{table}" SET {marks} WHERE rowid = ?', [(*values, row) for values, row in times])
    known = database.execute(f'SELECT rowid FROM "{table}" WHERE "{columns[0]}" IS NOT NULL').fetchall()
    gone = [(row,) for (row,) in known if row not in rows]
    database.executemany(f'DELETE FROM "{table}" WHERE rowid = ?', gone)


def _times(database: sqlite3.Connection, table: str) -> list[tuple[str, ...]]:
    columns = {row[1] for row in database.execute(f'PRAGMA table_info("{table}")')}
    if {"startNs", "endNs"} <= columns:
        return [("startNs", "endNs")]
    if {"startTimeNs", "endTimeNs"} <= columns:
        return [("startTimeNs", "endTimeNs")]
    single = ("timestampNs", "timestamp", "allocationTime", "releaseTime", "activeReleaseTime")
    return [(one,) for one in single if one in columns]


def _rows(database: sqlite3.Connection, table: str, columns: tuple[str, ...], texts: dict[int, str]) -> list[Event]:
    found = []
    category = {"COMMUNICATION_OP": "kernel", "CANN_API": "runtime", "PYTORCH_API": "cpu_op"}.get(table, "other")
    for row in database.execute(f'SELECT rowid AS at, * FROM "{table}" WHERE "{columns[0]}" IS NOT NULL'):
        keys = row.keys()
        name = next((texts.get(row[key], str(row[key])) for key in ("name", "opName") if key in keys), table)
        start = int(row[columns[0]])
        one: Event = {
            "ts": start, "name": name, "was": name, "cat": category, "row": (table, row["at"], columns), "args": {},
            "ph": "X" if len(columns) > 1 and (category != "other" or table == "TASK") else "i", "pid": 0,
            "tid": next((row[key] for key in ("globalTid", "streamId") if key in keys), 0),
        }  # fmt: skip
        if len(columns) > 1:
            one["dur"] = int(row[columns[1]]) - start
        if "connectionId" in keys and table != "PYTORCH_API":
            one["args"] = {"correlation": row["connectionId"]}
        if table == "TASK":
            one |= {"task": row["globalTaskId"], "kind": texts.get(row["taskType"], "")}
        found.append(one)
    return found


def _add(database: sqlite3.Connection, event: Event) -> None:
    """A row like that of the event's, with its times and its name; work has a task of its own."""
    table, like, columns = event["row"]
    task = None
    if table == "TASK":
        [task] = database.execute("SELECT max(globalTaskId) + 1 FROM TASK").fetchone()
    row = _copied(database, table, like, {columns[0]: event["ts"], columns[-1]: event["ts"] + event["dur"]}
                  | ({"globalTaskId": task} if task else {}))  # fmt: skip
    if table == "TASK":
        [info] = database.execute(
            "SELECT c.rowid FROM COMPUTE_TASK_INFO c JOIN TASK t USING (globalTaskId) WHERE t.rowid = ?", (like,)
        ).fetchone()
        _copied(database, "COMPUTE_TASK_INFO", info, {"globalTaskId": task})
        _rename(database, row, event["name"])
    elif table == "CANN_API":
        connection = event["args"].get("correlation")
        values = (_text(database, event["name"]), connection, 20000 if event["name"].startswith("acl") else 10000, row)
        database.execute('UPDATE CANN_API SET name = ?, connectionId = ?, "type" = ? WHERE rowid = ?', values)


def _copied(database: sqlite3.Connection, table: str, like: int, changes: dict[str, Any]) -> int:
    columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")') if not row[5]]
    row = database.execute(f'SELECT * FROM "{table}" WHERE rowid = ?', (like,))
    values = dict(zip([one[0] for one in row.description], row.fetchone(), strict=True)) | changes
    chosen = ", ".join(f'"{one}"' for one in columns)
    marks = ", ".join("?" * len(columns))
    made = database.execute(f'INSERT INTO "{table}" ({chosen}) VALUES ({marks})', [values[one] for one in columns])
    return int(made.lastrowid or 0)


def _rename(database: sqlite3.Connection, row: int, name: str) -> None:
    database.execute(
        "UPDATE COMPUTE_TASK_INFO SET name = ? WHERE globalTaskId = (SELECT globalTaskId FROM TASK WHERE rowid = ?)",
        (_text(database, name), row),
    )


def _text(database: sqlite3.Connection, value: str) -> int:
    known = database.execute("SELECT id FROM STRING_IDS WHERE value = ?", (value,)).fetchone()
    if known is None:
        known = database.execute("SELECT max(id) + 1 FROM STRING_IDS").fetchone()
        database.execute("INSERT INTO STRING_IDS (id, value) VALUES (?, ?)", (known[0], value))
    return int(known[0])
