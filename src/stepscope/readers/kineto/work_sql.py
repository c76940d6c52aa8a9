"""The SQL that turns the arguments of device work into staged rows."""

from __future__ import annotations

from typing import Final

from stepscope.readers.kineto.parsing import FAST_TS, IS_LAUNCH_ARROW, LIMIT_US, structure

_KERNEL_ARGS: Final = {
    "grid": ["INTEGER"],
    "block": ["INTEGER"],
    "registers per thread": "INTEGER",
    "shared memory": "BIGINT",
    "est. achieved occupancy %": "DOUBLE",
    "graph id": "BIGINT",
    "graph node id": "BIGINT",
    "Collective name": "VARCHAR",
}

KERNELS: Final = f"""
INSERT INTO raw_kernels (event, kind, grid, block, registers, shared_bytes, occupancy, in_graph)
SELECT i, CASE WHEN kind IS NULL AND a."Collective name" IS NOT NULL THEN 'comm' ELSE kind END,
    a.grid, a.block, a."registers per thread", a."shared memory",
    CASE WHEN isfinite(a."est. achieved occupancy %") THEN a."est. achieved occupancy %" / 100 END,
    CASE WHEN coalesce(a."graph node id", a."graph id", 0) > 0 THEN true END
FROM (
    SELECT i, kind, json_transform(args, {structure(dict(_KERNEL_ARGS))}) AS a FROM parsed WHERE is_span AND is_work
)
"""

_COPY_ARGS: Final = {"bytes": "BIGINT", "size": "BIGINT", "direction": "VARCHAR", "kind": "VARCHAR"}


def _memory_kind(group: int) -> str:
    """SQL for the kind of memory that a name tells, null if it does not: `Memcpy HtoD (Pinned -> Device)`."""
    return (
        f"CASE lower(regexp_extract(kineto_names.name, '\\((\\w+)\\s*->\\s*(\\w+)\\)', {group})) "
        "WHEN 'pageable' THEN 'pageable' WHEN 'pinned' THEN 'pinned' WHEN 'device' THEN 'device' "
        "WHEN 'array' THEN 'device' WHEN 'managed' THEN 'managed' WHEN 'unified' THEN 'managed' END"
    )


def _spelled(text: str) -> str:
    """SQL for the direction of a copy that a text spells out, "" if it does not."""
    return f"regexp_extract({text}, '\\b([HDP]to[HDP])\\b', 1)"


#: What new names are and tell of copies.
DESCRIBE_NAMES: Final = f"""
UPDATE kineto_names SET name_id = names.name_id, spelled = {_spelled("kineto_names.name")},
    source = {_memory_kind(1)}, target = {_memory_kind(2)}
FROM names WHERE kineto_names.name_id IS NULL AND kineto_names.name = names.name
"""

COPIES: Final = f"""
INSERT INTO copies
SELECT i,
    CASE WHEN kind = 'set' THEN 'set' WHEN spelled <> '' THEN spelled
         WHEN {_spelled("a.kind")} <> '' THEN {_spelled("a.kind")}
         WHEN a.direction ILIKE '%HOST_TO_DEVICE%' THEN 'HtoD' WHEN a.direction ILIKE '%DEVICE_TO_HOST%' THEN 'DtoH'
         WHEN a.direction ILIKE '%DEVICE_TO_DEVICE%' THEN 'DtoD' ELSE 'unknown' END,
    coalesce(a.bytes, a.size), source, target
FROM (
    SELECT i, p.kind, n.spelled, n.source, n.target, json_transform(args, {structure(dict(_COPY_ARGS))}) AS a
    FROM parsed p JOIN kineto_names n USING (name_key) WHERE is_span AND p.kind IN ('copy', 'set')
)
"""

_COLLECTIVE_ARGS: Final = {
    "Collective name": "VARCHAR",
    "Process Group Name": "VARCHAR",
    "Process Group ID": "VARCHAR",
    "Process Group Ranks": "VARCHAR",
    "Group size": "INTEGER",
    "In msg nelems": "BIGINT",
    "Out msg nelems": "BIGINT",
    "dtype": "VARCHAR",
    "seq": "BIGINT",
}

#: Collectives are described by their device work, or by the host operator that launched it.
COLLECTIVES: Final = f"""
INSERT INTO kineto_collectives
SELECT i, is_work, a."Collective name", coalesce(a."Process Group Name", a."Process Group ID"), a."Process Group Ranks",
    a."Group size", a."In msg nelems", a."Out msg nelems", a.dtype, coalesce(a.seq, try_cast(args->>'$.Seq' AS BIGINT))
FROM (
    SELECT i, is_work, args, json_transform(args, {structure(dict(_COLLECTIVE_ARGS))}) AS a
    FROM parsed WHERE is_span AND has_details AND contains(args, '"Collective name"')
)
WHERE a."Collective name" <> 'wait'
"""

#: Device work that no correlation id ties to its launch.
UNCORRELATED: Final = "SELECT count(*) FROM parsed WHERE is_span AND is_work AND coalesce(correlation, 0) <= 0"

_ARROW: Final = {"ph": "VARCHAR", "id": "VARCHAR", "ts": "DOUBLE", "pid": "VARCHAR", "tid": "VARCHAR"}

#: The arrows of launches, which are read only where device work has no correlation id.
LAUNCH_ARROWS: Final = f"""
INSERT INTO kineto_flows
SELECT 'launch', e.id, e.ph = 's', {FAST_TS}, coalesce(e.pid, ''), coalesce(e.tid, '')
FROM (
    SELECT json_transform(text, {structure(dict(_ARROW))}) AS e
    FROM pieces
    WHERE {IS_LAUNCH_ARROW} AND json_valid(text)
)
WHERE e.ph IN ('s', 'f', 't') AND isfinite(e.ts) AND abs(e.ts) < {LIMIT_US} AND e.id IS NOT NULL
"""
