"""Stage calls on host threads: of CUDA runtime and driver, operating system, libraries and the profiler."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from stepscope.model import runtime_names
from stepscope.readers.nsight.loader import CORRELATION, ExportLoader, process_of
from stepscope.readers.nsight.name_map import NameMap
from stepscope.readers.sqlite.columns import Columns

#: The runtime's version in a name, such as `cudaLaunchKernel_v7000`. Longer and shorter numbers belong to the name.
_VERSION: Final = re.compile(r"_v\d{4}$")

_WAITS: Final = (
    (re.compile(r"StreamWaitEvent"), "Stream Wait Event"),
    (re.compile(r"StreamSynchronize"), "Stream Synchronize"),
    (re.compile(r"EventSynchronize|EventQuery"), "Event Synchronize"),
    (re.compile(r"(Device|Ctx|Context)Synchronize"), "Context Synchronize"),
)

_API: Final = Columns(ints=("start", "end", "globalTid", "correlationId", "nameId", "returnValue"))

_API_EVENTS: Final = f"""
INSERT INTO raw_events BY NAME
SELECT c.id, c.start AS ts, c."end" - c.start AS dur, t.track, m.name_id, m.category, {CORRELATION} AS correlation
FROM chunk c
JOIN nsight_threads t ON t.global_tid = coalesce(c.globalTid, 0)
JOIN nsight_calls m ON m.id = coalesce(c.nameId, -1)
LEFT JOIN nsight_processes p ON p.global_pid = {process_of("c.globalTid")}
WHERE c.start IS NOT NULL
"""
_API_WAITS: Final = f"""
INSERT INTO nsight_waits SELECT {CORRELATION} AS correlation, m.wait
FROM chunk c JOIN nsight_calls m ON m.id = coalesce(c.nameId, -1)
LEFT JOIN nsight_processes p ON p.global_pid = {process_of("c.globalTid")}
WHERE m.wait IS NOT NULL AND c.correlationId > 0
"""
_API_ARGS: Final = "SELECT id, '{\"return_value\": ' || returnValue || '}' AS args FROM chunk WHERE returnValue <> 0"

_OTHER: Final = Columns(
    ints=("start", "end", "globalTid", "nameId", "textId", "eventClass", "nestingLevel", "returnValue"),
)
_OTHER_EVENTS: Final = """
INSERT INTO raw_events BY NAME
SELECT c.id, c.start AS ts, c."end" - c.start AS dur, t.track, m.name_id, '{category}' AS category
FROM chunk c
JOIN nsight_threads t ON t.global_tid = coalesce(c.globalTid, 0)
JOIN {names} m ON m.id = coalesce(c.nameId, c.textId, -1)
WHERE c.start IS NOT NULL AND {condition}
"""
#: The library is part of a call's name, since many libraries share a category.
_OTHER_ARGS: Final = """
SELECT c.id, '{{"api": "{api}"' || CASE WHEN nestingLevel > 0 THEN ', "nesting_level": ' || nestingLevel ELSE '' END
    || CASE WHEN returnValue <> 0 THEN ', "return_value": ' || returnValue ELSE '' END || '}}' AS args
FROM chunk c WHERE c.start IS NOT NULL AND {condition}
"""


@dataclass(frozen=True, slots=True)
class _CallTable:
    """A table of calls: their category, the condition on its rows, and the prefix of their names."""

    table: str
    category: str
    api: str = ""
    condition: str = "true"
    prefix: str = ""


#: In the operating system's table only class 27 are calls; 31 and 32 mark start and end of recording.
_TABLES: Final = (
    _CallTable("OSRT_API", "other", "os_runtime", "coalesce(c.eventClass, 27) = 27"),
    _CallTable("SYSCALL", "other", "syscall"),
    _CallTable("CUDNN_EVENTS", "other", "cudnn"),
    _CallTable("CUBLAS_EVENTS", "other", "cublas"),
    _CallTable("OPENACC_DATA_EVENTS", "other", "openacc"),
    _CallTable("OPENACC_LAUNCH_EVENTS", "other", "openacc"),
    _CallTable("OPENACC_OTHER_EVENTS", "other", "openacc"),
    _CallTable("CUPTI_ACTIVITY_KIND_OPENACC_DATA", "other", "openacc"),
    _CallTable("CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", "other", "openacc"),
    _CallTable("CUPTI_ACTIVITY_KIND_OPENACC_OTHER", "other", "openacc"),
    _CallTable("OPENMP_EVENT_KIND_PARALLEL", "other", "openmp"),
    _CallTable("MPI_COLLECTIVES_EVENTS", "annotation", "mpi", prefix="mpi:"),
    _CallTable("MPI_P2P_EVENTS", "annotation", "mpi", prefix="mpi:"),
    _CallTable("MPI_START_WAIT_EVENTS", "other", "mpi"),
    _CallTable("MPI_OTHER_EVENTS", "other", "mpi"),
    _CallTable("CUDA_GRAPH_EVENTS", "other", "cuda_graph"),
    _CallTable("CUPTI_ACTIVITY_KIND_JIT", "runtime", "cuda_jit"),
    _CallTable("PROFILER_OVERHEAD", "overhead"),
    _CallTable("CUPTI_ACTIVITY_KIND_OVERHEAD", "overhead"),
)


def call_name(recorded: str) -> str:
    """The name of an API call without the runtime's version."""
    return _VERSION.sub("", recorded)


def load_api(loader: ExportLoader) -> None:
    """Stage the calls of CUDA runtime and driver, which launch device work."""
    names = NameMap(loader, "nsight_calls", _call)
    failed = 0
    for _ in loader.chunks("CUPTI_ACTIVITY_KIND_RUNTIME", _API):
        loader.add_threads()
        names.extend("nameId")
        loader.staging.connection.execute(_API_EVENTS)
        loader.staging.connection.execute(_API_WAITS)
        [errors] = loader.staging.one("SELECT count(*) FROM chunk WHERE returnValue <> 0")
        if errors:
            loader.staging.add_args(_API_ARGS)
            failed += errors


def load_other_calls(loader: ExportLoader) -> None:
    """Stage all other calls on host threads."""
    for calls in _TABLES:
        if not loader.tables.rows(calls.table):
            continue
        table = f"nsight_names_of_{calls.table.lower()}"
        names = NameMap(loader, table, _prefixed(calls.prefix))
        for _ in loader.chunks(calls.table, _OTHER):
            loader.add_threads()
            names.extend("coalesce(nameId, textId)")
            fields = {"category": calls.category, "names": table, "condition": calls.condition, "api": calls.api}
            loader.staging.connection.execute(_OTHER_EVENTS.format(**fields))
            if calls.api:
                loader.staging.add_args(_OTHER_ARGS.format(**fields))


def _call(recorded: str) -> dict[str, Any]:
    name = call_name(recorded)
    wait = next((text for pattern, text in _WAITS if pattern.search(name)), None)
    if runtime_names.is_synchronisation(name):
        return {"name": name, "category": "sync", "wait": wait}
    return {"name": name, "category": "launch" if runtime_names.is_launch(name) else "runtime", "wait": wait}


def _prefixed(prefix: str) -> Any:
    return lambda recorded: {"name": prefix + recorded}
