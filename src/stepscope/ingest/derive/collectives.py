"""One row per collective: what the device event tells of it, else its launch, else names.

Newer profilers write group, sizes and sequence number on the device event, older ones on the operator that
launched it, and the oldest nowhere; then the names of the operators and annotations around the launch and of the
kernel tell at least which collective it is, and the operators' inputs how large.
"""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.activities import COMM, Activities
from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.surroundings import nullable
from stepscope.model.intervals import distinct
from stepscope.model.kernel_names import classify
from stepscope.model.lookup import match
from stepscope.model.opcost.call import Call
from stepscope.store.staging import Staging

#: Collectives of kernel names that have another name in `collectives`: the two halves of an expert exchange, and
#: one-sided transfers.
_CANONICAL: Final = {"dispatch": "all_to_all", "combine": "all_to_all", "put": "send"}

_AROUND_SQL: Final = """
CREATE TEMP TABLE comm_ops AS
SELECT k.event, o.around AS op, o.level, o.name_id FROM comm k JOIN chain o USING (op)
"""

#: The innermost operator around each device event that tells about a collective.
_HOSTS_SQL: Final = """
CREATE TEMP TABLE comm_hosts AS
SELECT o.event, arg_min(o.op, o.level) AS host
FROM comm_ops o JOIN collectives c ON c.event = o.op GROUP BY o.event
"""

_FILL_SQL: Final = """
UPDATE collectives SET seq = coalesce(collectives.seq, h.seq), bytes = coalesce(collectives.bytes, h.bytes),
    dtype = coalesce(collectives.dtype, h.dtype), world_size = coalesce(collectives.world_size, h.world_size),
    ranks = coalesce(collectives.ranks, h.ranks)
FROM comm_hosts m JOIN collectives h ON h.event = m.host
WHERE m.event = collectives.event AND h.collective = collectives.collective
"""

_FROM_HOST_SQL: Final = """
INSERT INTO collectives BY NAME
SELECT m.event, h.* EXCLUDE (event)
FROM comm_hosts m JOIN collectives h ON h.event = m.host ANTI JOIN collectives c ON c.event = m.event
"""

#: Every operator around a device event has its row there now.
_DROP_HOSTS_SQL: Final = "DELETE FROM collectives WHERE event IN (SELECT op FROM comm_ops)"

_UNTOLD_SQL: Final = """
CREATE TEMP TABLE comm_untold AS
SELECT k.event, k.module, k.name_id FROM comm k ANTI JOIN collectives c ON c.event = k.event
"""

#: Names around each untold device event, from the operator at its launch outwards; the kernel's own comes last.
_WORDS_SQL: Final = """
CREATE TEMP TABLE comm_words AS
SELECT u.event, o.level AS rank, o.op AS host, o.name_id
FROM comm_untold u JOIN comm_ops o ON o.event = u.event
UNION ALL
SELECT u.event, 100, NULL, e.name_id FROM comm_untold u JOIN raw_events e ON e.id = u.module
UNION ALL
SELECT event, 101, NULL, name_id FROM comm_untold
"""

_FROM_NAMES_SQL: Final = """
INSERT INTO collectives BY NAME
SELECT w.event, 'default' AS "group", coalesce(arg_min(m.collective, w.rank) FILTER (WHERE m.collective IS NOT NULL),
    'other') AS collective, max(s.bytes) AS bytes, arg_max(s.dtype, s.bytes) AS dtype
FROM comm_words w
LEFT JOIN comm_meanings m ON m.name_id = w.name_id
LEFT JOIN op_inputs i ON i.event = w.host AND m.is_comm
LEFT JOIN comm_sizes s ON s.shapes = i.shapes AND s.dtypes = i.dtypes
GROUP BY w.event
"""

#: Host annotations that are collectives by themselves: libraries that work on the host name them so.
_HOST_ONLY_SQL: Final = """
SELECT e.id, n.name FROM raw_events e JOIN names n USING (name_id) JOIN tracks t USING (track)
WHERE t.kind = 'host' AND e.category = 'annotation' AND regexp_matches(n.name, '^(gloo|mpi):')
"""


def derive_collectives(staging: Staging, overview: Overview, activities: Activities, chain: pa.Table) -> None:
    """Give every collective of a device its row in `collectives`, in place of the row of its launch.

    Rows of the host that no device event belongs to stay: collectives that run on the host.
    """
    connection = staging.connection
    [told] = staging.one("SELECT count(*) FROM collectives")
    comm = np.flatnonzero(activities.kind == COMM)
    if comm.size:
        op, module = activities.op[comm], activities.module[comm]
        columns = {"event": activities.event[comm], "name_id": activities.name_id[comm]}
        columns |= {"op": nullable(op, op < 0), "module": nullable(module, module < 0)}
        connection.register("comm", pa.table(columns))
        connection.register("chain", chain.filter(pa.array(match(distinct(op), chain["op"].to_numpy()) >= 0)))
        connection.execute(_AROUND_SQL)
        for query in (_HOSTS_SQL, _FILL_SQL, _FROM_HOST_SQL, _DROP_HOSTS_SQL) if told else ():
            connection.execute(query)
        _name_untold(staging)
        connection.unregister("comm")
        connection.unregister("chain")
    elif not told and overview.on_host("annotation"):
        _name_host_only(staging)


def _name_untold(staging: Staging) -> None:
    """Rows for device events whose collective only names tell."""
    connection = staging.connection
    connection.execute(_UNTOLD_SQL)
    [untold] = staging.one("SELECT count(*) FROM comm_untold")
    if not untold:
        return
    connection.execute(_WORDS_SQL)
    names = connection.execute("SELECT DISTINCT name_id, name FROM comm_words JOIN names USING (name_id)").fetchall()
    columns: dict[str, list[Any]] = {
        "name_id": [name_id for name_id, _ in names],
        "collective": [_collective(name) for _, name in names],
        "is_comm": [classify(name).op_class == "collective" for _, name in names],
    }
    connection.execute("CREATE TEMP TABLE comm_meanings (name_id INTEGER, collective VARCHAR, is_comm BOOLEAN)")
    staging.insert("comm_meanings", pa.table(columns))
    _size_inputs(staging)
    connection.execute(_FROM_NAMES_SQL)
    staging.observe(
        "collectives-by-name",
        "info",
        untold,
        "collectives are known by name only; their group and sequence number are not recorded",
        "ranks are matched by order, and bandwidths may be missing; record with a newer version of the profiler",
    )


def _size_inputs(staging: Staging) -> None:
    """Table `comm_sizes`: the largest tensor of each distinct combination of inputs."""
    connection = staging.connection
    rows = connection.execute(
        "SELECT DISTINCT i.shapes, i.dtypes FROM comm_words w JOIN op_inputs i ON i.event = w.host "
        "WHERE i.shapes IS NOT NULL AND i.dtypes IS NOT NULL"
    ).fetchall()
    connection.execute("CREATE TEMP TABLE comm_sizes (shapes VARCHAR, dtypes VARCHAR, bytes BIGINT, dtype VARCHAR)")
    sizes = [_largest(shapes, dtypes) for shapes, dtypes in rows]
    types = (pa.string(), pa.string(), pa.int64(), pa.string())
    values = zip(*((*row, *size) for row, size in zip(rows, sizes, strict=True)), strict=True)
    columns = list(values) or [()] * len(types)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    staging.insert("comm_sizes", pa.Table.from_arrays(arrays, names=["shapes", "dtypes", "bytes", "dtype"]))


def _largest(shapes: str, dtypes: str) -> tuple[int | None, str | None]:
    """Bytes and type of the largest tensor among an operator's inputs."""
    try:
        tensors = Call(json.loads(shapes), json.loads(dtypes), ()).tensors()
    except (ValueError, TypeError, RecursionError):
        return None, None
    sizes = [(tensor.nbytes, tensor.dtype) for tensor in tensors if tensor.nbytes is not None and tensor.shape]
    return max(sizes, key=lambda size: size[0], default=(None, None))


def _name_host_only(staging: Staging) -> None:
    """Rows for annotated collectives of the host."""
    rows = staging.connection.execute(_HOST_ONLY_SQL).fetchall()
    columns: dict[str, list[Any]] = {
        "event": [event for event, _ in rows],
        "group": ["default"] * len(rows),
        "collective": [_collective(name) or "other" for _, name in rows],
    }
    if rows:
        staging.insert("collectives", pa.table(columns))


def _collective(name: str) -> str | None:
    """The collective that a name tells, as `collectives` calls it; None if it tells none."""
    kind = classify(name).collective
    return _CANONICAL.get(kind, kind) if kind else None
