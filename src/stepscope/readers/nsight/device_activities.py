"""Stage device activities: kernels, graphs, copies, memsets and waits."""

from __future__ import annotations

from typing import Final

from stepscope.model.kernel_names.parse import WHOLE_GRAPH
from stepscope.readers.nsight.loader import CORRELATION, QUEUE_KEY, ExportLoader
from stepscope.readers.nsight.name_map import NameMap
from stepscope.readers.sqlite.columns import Columns

_QUEUE: Final = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")

_KERNEL: Final = Columns(
    ints=(
        *_QUEUE, "demangledName", "mangledName", "shortName", "registersPerThread", "gridX", "gridY", "gridZ", "blockX",
        "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory", "graphNodeId",
    ),
)  # fmt: skip
_COPY: Final = Columns(
    ints=(*_QUEUE, "bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId", "graphNodeId")
)
_SET: Final = Columns(ints=(*_QUEUE, "bytes", "memKind", "graphNodeId"))
_GRAPH: Final = Columns(ints=(*_QUEUE, "graphId", "graphExecId"))
_SYNC: Final = Columns(ints=(*_QUEUE, "syncType"))

#: Numbers of ENUM_CUDA_MEMCPY_OPER, the same in every version. 11 to 13 are migrations of managed memory.
_DIRECTIONS: Final = {
    1: "HtoD", 2: "DtoH", 3: "HtoD", 4: "DtoH", 5: "DtoD", 6: "DtoD", 7: "DtoD", 8: "DtoD", 9: "HtoH", 10: "PtoP",
    11: "HtoD", 12: "DtoH", 13: "DtoD",
}  # fmt: skip
_FIRST_MIGRATION: Final = 11
_LAST_MIGRATION: Final = 13
#: Numbers of ENUM_CUDA_MEM_KIND; arrays and static variables lie in device memory.
_MEMORY: Final = {0: "pageable", 1: "pinned", 2: "device", 3: "device", 4: "managed", 5: "device", 6: "managed"}
#: Numbers of ENUM_CUPTI_SYNC_TYPE. Exporters before schema 3.25 wrote other numbers under the same names.
_SYNC_TYPES: Final = {1: "Event Synchronize", 2: "Stream Wait Event", 3: "Stream Synchronize", 4: "Context Synchronize"}
SYNC_TYPES_SINCE: Final = (3, 25)
#: The name of a wait of older exports whose call is not known: the host's, or one queue's for another.
UNTYPED_WAIT: Final = "Synchronize"

#: Chunk rows with their queue, as columns of events; {name} and {category} are filled in.
_EVENTS: Final = f"""
INSERT INTO raw_events BY NAME
SELECT c.id, c.start AS ts, c."end" - c.start AS dur, q.track, n.name_id, {{category}} AS category,
    {{correlation}} AS correlation
FROM (SELECT *, {QUEUE_KEY} FROM chunk) c
JOIN nsight_queues q ON q.global_pid = c.global_pid AND q.device = c.device AND q.context = c.context
    AND q.stream = c.stream
LEFT JOIN nsight_processes p ON p.global_pid = c.global_pid
{{joins}}
WHERE c.start IS NOT NULL
"""

_NAME_ID: Final = "coalesce(demangledName, mangledName, shortName)"
_KERNEL_FACTS: Final = """
INSERT INTO raw_kernels BY NAME
SELECT id AS event,
    CASE WHEN gridX IS NOT NULL THEN try_cast([gridX, coalesce(gridY, 1), coalesce(gridZ, 1)] AS INTEGER[]) END AS grid,
    CASE WHEN blockX IS NOT NULL THEN try_cast([blockX, coalesce(blockY, 1), coalesce(blockZ, 1)] AS INTEGER[]) END
        AS block,
    try_cast(registersPerThread AS INTEGER) AS registers,
    staticSharedMemory + coalesce(dynamicSharedMemory, 0) AS shared_bytes,
    CASE WHEN graphNodeId > 0 THEN true END AS in_graph
FROM chunk WHERE start IS NOT NULL
"""
_FACTS: Final = (
    "INSERT INTO raw_kernels BY NAME SELECT id AS event, '{kind}' AS kind, {graph} AS in_graph FROM chunk "
    "WHERE start IS NOT NULL"
)


def load_device_work(loader: ExportLoader, schema_version: tuple[int, ...]) -> None:
    """Stage all device activities."""
    _load_kernels(loader)
    _load_graphs(loader)
    _load_copies(loader)
    _load_sets(loader)
    _load_waits(loader, schema_version)


def _load_kernels(loader: ExportLoader) -> None:
    names = NameMap(loader, "nsight_kernel_names", lambda recorded: {"name": recorded})
    joins = f"JOIN nsight_kernel_names n ON n.id = coalesce({_NAME_ID}, -1)"
    for _ in loader.chunks("CUPTI_ACTIVITY_KIND_KERNEL", _KERNEL):
        loader.add_queues()
        names.extend(_NAME_ID)
        loader.staging.connection.execute(_EVENTS.format(category="'kernel'", correlation=CORRELATION, joins=joins))
        loader.staging.connection.execute(_KERNEL_FACTS)


def _load_graphs(loader: ExportLoader) -> None:
    """Stage graphs recorded as a whole: one interval per launch in place of its kernels."""
    name = f"'{WHOLE_GRAPH}' || coalesce(graphId, graphExecId, 0)"
    launches = 0
    for _ in loader.chunks("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", _GRAPH):
        loader.add_queues()
        _named_events(loader, name, "kernel", CORRELATION)
        loader.staging.connection.execute(_FACTS.format(kind="compute", graph="true"))
        launches += loader.staging.one("SELECT count(*) FROM chunk")[0]
    loader.staging.observe(
        "graphs-opaque", "warning", launches, "graph launches were recorded as a whole, without the kernels inside",
        "they count as computation, and their communication and copies can't be distinguished; record with "
        "`nsys profile --cuda-graph-trace=node`",
    )  # fmt: skip


def _load_copies(loader: ExportLoader) -> None:
    direction = _case("copyKind", _DIRECTIONS, "'unknown'")
    migration = f"copyKind BETWEEN {_FIRST_MIGRATION} AND {_LAST_MIGRATION}"
    source, target = (_case(column, _MEMORY, "NULL") for column in ("srcKind", "dstKind"))
    # The correlation of copies without a call is meaningless.
    correlation = f"CASE WHEN {migration} THEN NULL ELSE {CORRELATION} END"
    label = (
        f"'Memcpy ' || {direction} || CASE WHEN {migration} THEN ' (Unified Memory)' "
        "WHEN srcKind IS NULL OR dstKind IS NULL THEN '' "
        f"ELSE ' (' || {_titled(source)} || ' -> ' || {_titled(target)} || ')' END"
    )
    for _ in loader.chunks("CUPTI_ACTIVITY_KIND_MEMCPY", _COPY):
        loader.add_queues()
        _named_events(loader, label, "copy", correlation)
        loader.staging.connection.execute(_FACTS.format(kind="copy", graph="CASE WHEN graphNodeId > 0 THEN true END"))
        loader.staging.connection.execute(
            f"INSERT INTO copies BY NAME SELECT id AS event, {direction} AS direction, bytes, "
            f"CASE WHEN {migration} THEN 'managed' ELSE {source} END AS src_kind, "
            f"CASE WHEN {migration} THEN 'managed' ELSE {target} END AS dst_kind FROM chunk WHERE start IS NOT NULL"
        )


def _load_sets(loader: ExportLoader) -> None:
    kind = _case("memKind", _MEMORY, "NULL")
    label = f"'Memset' || CASE WHEN memKind IS NULL THEN '' ELSE ' (' || {_titled(kind)} || ')' END"
    for _ in loader.chunks("CUPTI_ACTIVITY_KIND_MEMSET", _SET):
        loader.add_queues()
        _named_events(loader, label, "set", CORRELATION)
        loader.staging.connection.execute(_FACTS.format(kind="set", graph="CASE WHEN graphNodeId > 0 THEN true END"))
        loader.staging.connection.execute(
            f"INSERT INTO copies BY NAME SELECT id AS event, 'set' AS direction, bytes, {kind} AS dst_kind FROM chunk "
            "WHERE start IS NOT NULL"
        )


def _load_waits(loader: ExportLoader, schema_version: tuple[int, ...]) -> None:
    """Stage waits, named by their call, since the recorded type is reliable in newer exports only."""
    untyped = f"'{UNTYPED_WAIT}'"
    fallback = _case("syncType", _SYNC_TYPES, untyped) if schema_version >= SYNC_TYPES_SINCE else untyped
    connection = loader.staging.connection
    for _ in loader.chunks("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", _SYNC):
        loader.add_queues(device_known=False)
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE nsight_labels AS "
            f"SELECT c.id, coalesce(any_value(w.name), any_value({fallback})) AS name "
            f"FROM (SELECT *, {QUEUE_KEY} FROM chunk) c LEFT JOIN nsight_processes p USING (global_pid) "
            f"LEFT JOIN nsight_waits w ON w.correlation = {CORRELATION} GROUP BY c.id"
        )
        _labelled_events(loader, "sync", CORRELATION)
        connection.execute(_FACTS.format(kind="sync", graph="NULL"))


def _named_events(loader: ExportLoader, name: str, category: str, correlation: str) -> None:
    """Stage the chunk's rows as events whose names are an expression."""
    loader.staging.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE nsight_labels AS SELECT id, {name} AS name FROM chunk"
    )
    _labelled_events(loader, category, correlation)


def _labelled_events(loader: ExportLoader, category: str, correlation: str) -> None:
    loader.staging.intern_names("nsight_labels")
    joins = "JOIN nsight_labels l ON l.id = c.id JOIN names n ON n.name = l.name"
    loader.staging.connection.execute(_EVENTS.format(category=f"'{category}'", correlation=correlation, joins=joins))


def _case(column: str, values: dict[int, str], default: str) -> str:
    branches = " ".join(f"WHEN {key} THEN '{value}'" for key, value in values.items())
    return f"CASE {column} {branches} ELSE {default} END"


def _titled(kind: str) -> str:
    """SQL for a memory kind as part of a name: `Pageable`."""
    return f"coalesce(upper(left({kind}, 1)) || substr({kind}, 2), 'Unknown')"
