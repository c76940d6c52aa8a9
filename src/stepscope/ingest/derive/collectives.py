"""Describe each collective: from its device event, else from its launch, else from names.

Newer profilers write group, sizes and sequence number on the device event, older ones on the launching operator, the
oldest nowhere. Then the names of operators and annotations around the launch and of the kernel give the collective,
and the operators' inputs its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.activities import COMM, DerivedWork
from stepscope.ingest.derive.host.surroundings import nullable
from stepscope.ingest.derive.names.collectives import collectives_by_name, named_collective
from stepscope.ingest.derive.overview import Overview
from stepscope.model.events.lookup import match
from stepscope.model.intervals import distinct
from stepscope.model.runtime_names import COLLECTIVE_ON_HOST
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AROUND_SQL: Final = """
CREATE TEMP TABLE comm_ops AS
SELECT k.event, o.around AS op, o.level FROM comm k JOIN chain o USING (op)
"""

#: The innermost operator around each device event that has a row in `collectives`.
_HOSTS_SQL: Final = """
CREATE TEMP TABLE comm_hosts AS
SELECT o.event, arg_min(o.op, o.level) AS host
FROM comm_ops o JOIN collectives c ON c.event = o.op GROUP BY o.event
"""

_FILL_SQL: Final = """
UPDATE collectives SET seq = coalesce(collectives.seq, h.seq), bytes = coalesce(collectives.bytes, h.bytes),
    dtype = coalesce(collectives.dtype, h.dtype), world_size = coalesce(collectives.world_size, h.world_size),
    ranks = coalesce(collectives.ranks, h.ranks), peer = coalesce(collectives.peer, h.peer)
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

#: Host annotations that are collectives themselves, as libraries that communicate on the host write them.
_HOST_ONLY_SQL: Final = f"""
SELECT e.id, n.name FROM raw_events e JOIN names n USING (name_id) JOIN tracks t USING (track)
WHERE t.kind = 'host' AND e.category = 'annotation' AND regexp_matches(n.name, '{COLLECTIVE_ON_HOST}')
"""


def derive_collectives(staging: Staging, overview: Overview, activities: DerivedWork, chain: pa.Table) -> None:
    """Replace rows of launches in `collectives` by a row per device event.

    Rows of host events without device event stay: collectives that run on the host.
    """
    recorded = staging.may_have("collectives") and staging.one("SELECT count(*) FROM collectives")[0]
    comm = np.flatnonzero(activities.kind == COMM)
    if comm.size:
        chain = chain.filter(pa.array(match(distinct(activities.op[comm]), chain["op"].to_numpy()) >= 0))
        if recorded:
            _complete(staging, activities.event[comm], activities.op[comm], chain)
            events = staging.connection.execute("SELECT event FROM collectives").fetchnumpy()["event"]
            comm = comm[match(events, activities.event[comm]) < 0]
        if comm.size:
            _name_unrecorded(staging, activities, comm, chain)
    elif not recorded and overview.on_host("annotation"):
        _name_host_only(staging)


def _complete(staging: Staging, event: NDArray[np.int64], op: NDArray[np.int64], chain: pa.Table) -> None:
    """Complete the rows of device events from those of the operators around their launches."""
    connection = staging.connection
    connection.register("comm", pa.table({"event": event, "op": nullable(op, op < 0)}))
    connection.register("chain", chain)
    for query in (_AROUND_SQL, _HOSTS_SQL, _FILL_SQL, _FROM_HOST_SQL, _DROP_HOSTS_SQL):
        connection.execute(query)
    connection.unregister("comm")
    connection.unregister("chain")


def _name_unrecorded(staging: Staging, activities: DerivedWork, comm: NDArray[np.int64], chain: pa.Table) -> None:
    """Add rows for device events at these positions whose collective is known from names only."""
    found = collectives_by_name(staging, activities.name_id[comm], activities.op[comm], activities.module[comm], chain)
    staging.insert("collectives", found.append_column("event", pa.array(activities.event[comm])))
    staging.observe(
        "collectives-by-name",
        "info",
        comm.size,
        "collectives are known by name only; their group and sequence number are not recorded",
        "ranks are matched by order, and bandwidths may be missing; record with a newer version of the profiler",
    )


def _name_host_only(staging: Staging) -> None:
    """Add rows for annotated collectives of the host."""
    rows = staging.connection.execute(_HOST_ONLY_SQL).fetchall()
    columns: dict[str, list[Any]] = {
        "event": [event for event, _ in rows],
        "group": ["default"] * len(rows),
        "collective": [named_collective(name) or "other" for _, name in rows],
    }
    if rows:
        staging.insert("collectives", pa.table(columns))
