"""SQL that stages the arguments of device work."""

from __future__ import annotations

from typing import Final

from stepscope.readers.kineto.parsing import FAST_TS, IS_LAUNCH_FLOW, LIMIT_US, structure
from stepscope.readers.kineto.vocabulary import DIRECTION

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
    SELECT i, kind, json_transform(args, {structure(dict(_KERNEL_ARGS))}) AS a FROM details
)
"""

_COPY_ARGS: Final = {"bytes": "BIGINT", "size": "BIGINT", "direction": "VARCHAR", "kind": "VARCHAR"}


_SPELLED: Final = f"regexp_extract(a.kind, '{DIRECTION}', 1)"

#: A copy's name takes precedence over its arguments.
COPIES: Final = f"""
INSERT INTO copies
SELECT i,
    CASE WHEN kind = 'set' THEN 'set' WHEN direction IS NOT NULL THEN direction
         WHEN {_SPELLED} <> '' THEN {_SPELLED}
         WHEN a.direction ILIKE '%HOST_TO_DEVICE%' THEN 'HtoD' WHEN a.direction ILIKE '%DEVICE_TO_HOST%' THEN 'DtoH'
         WHEN a.direction ILIKE '%DEVICE_TO_DEVICE%' THEN 'DtoD' ELSE 'unknown' END,
    coalesce(a.bytes, a.size), source, target
FROM (
    SELECT i, kind, direction, source, target, json_transform(args, {structure(dict(_COPY_ARGS))}) AS a
    FROM details WHERE kind IN ('copy', 'set')
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
    "Src Rank": "INTEGER",
    "Dst Rank": "INTEGER",
}

#: Collectives are described by their device work, or by the host operator that launched it.
COLLECTIVES: Final = f"""
INSERT INTO kineto_collectives
SELECT i, is_work, a."Collective name", coalesce(a."Process Group Name", a."Process Group ID"), a."Process Group Ranks",
    a."Group size", a."In msg nelems", a."Out msg nelems", a.dtype, coalesce(a.seq, try_cast(args->>'$.Seq' AS BIGINT)),
    a."Src Rank", a."Dst Rank"
FROM (
    SELECT i, is_work, args, json_transform(args, {structure(dict(_COLLECTIVE_ARGS))}) AS a
    FROM described
)
WHERE a."Collective name" <> 'wait'
"""

_FLOW: Final = {"ph": "VARCHAR", "id": "VARCHAR", "ts": "DOUBLE", "pid": "VARCHAR", "tid": "VARCHAR"}

#: The flows of launches, which are read only where device work has no correlation id.
LAUNCH_FLOWS: Final = f"""
INSERT INTO kineto_flows
SELECT 'launch', e.id, e.ph = 's', {FAST_TS}, coalesce(e.pid, ''), coalesce(e.tid, '')
FROM (
    SELECT json_transform(text, {structure(dict(_FLOW))}) AS e
    FROM segments
    WHERE {IS_LAUNCH_FLOW} AND json_valid(text)
)
WHERE e.ph IN ('s', 'f', 't') AND isfinite(e.ts) AND abs(e.ts) < {LIMIT_US} AND e.id IS NOT NULL
"""
