"""Link device work to the framework's operators where no flow is recorded.

An operator enqueues a task; another thread dequeues it and calls CANN, which launches the work. The call and the work
share a connection id, enqueue and dequeue share the queue's number.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.model.events.innermost import innermost
from stepscope.model.intervals import Times
from stepscope.readers.ascend.vocabulary import COLLECTIVES_OWN, CORES
from stepscope.store.staging import Staging

#: Tasks of one launch (the waits of a collective) are of one operator.
_SAME_CONNECTION: Final = """
UPDATE ascend_device SET op = o.op
FROM (SELECT connection, max(op) AS op FROM ascend_device WHERE op IS NOT NULL GROUP BY 1) o
WHERE ascend_device.op IS NULL AND ascend_device.connection = o.connection
"""

#: The event that dequeues a task, around the call that launched device work without an operator.
_TAKEN: Final = """
CREATE TABLE ascend_taken AS
SELECT d.i, q.queue, q.name
FROM (
    SELECT w.i, h.process, h.thread, h.ts
    FROM ascend_device w JOIN ascend_host h ON h.connection = w.connection
    WHERE w.op IS NULL OR (w.kind = 'copy' AND w.direction IS NULL)
) d
ASOF JOIN (SELECT * FROM ascend_host WHERE queue IS NOT NULL) q
ON q.process = d.process AND q.thread = d.thread AND d.ts >= q.ts
WHERE d.ts <= q.ts + coalesce(q.dur, 0)
"""

_DIRECTIONS: Final = """
UPDATE ascend_device SET direction = t.name FROM ascend_taken t
WHERE t.i = ascend_device.i AND ascend_device.kind = 'copy' AND ascend_device.direction IS NULL
"""

#: The moments at which tasks were enqueued, with their threads numbered.
_MOMENTS: Final = """
CREATE TABLE ascend_moments AS
SELECT t.i, e.ts, dense_rank() OVER (ORDER BY e.process, e.thread) AS number, e.process, e.thread
FROM ascend_taken t JOIN ascend_device d USING (i)
JOIN ascend_host e ON e.queue = t.queue AND e.name NOT LIKE 'Dequeue%'
WHERE d.op IS NULL
"""
_OPERATORS: Final = """
SELECT h.i, m.number, h.ts, h.ts + h.dur AS stop
FROM ascend_host h JOIN (SELECT DISTINCT number, process, thread FROM ascend_moments) m USING (process, thread)
WHERE h.category = 'op' AND h.dur IS NOT NULL ORDER BY m.number, h.ts, h.dur DESC, h.i
"""

#: Queue numbers may repeat: of several operators the one that started last.
_THROUGH_QUEUE: Final = """
UPDATE ascend_device SET op = o.op
FROM (SELECT i, arg_max(op, ts) AS op FROM ascend_enqueued GROUP BY i) o
WHERE o.i = ascend_device.i
"""

#: Older releases of CANN call what moves a collective's data by the name of any copy, without size and direction: it
#: lies on a stream that computes nothing and waits for notifies of other devices, while a collective runs.
_MOVES: Final = """
UPDATE ascend_device SET kind = 'part' WHERE i IN (
    SELECT d.i
    FROM ascend_device d
    JOIN (
        SELECT device, stream FROM ascend_device GROUP BY ALL
        HAVING bool_or(concat(name, ' ', task_type) ILIKE '%notify%wait%') AND NOT bool_or(kind = 'compute')
    ) s ON s.device IS NOT DISTINCT FROM d.device AND s.stream = d.stream
    ASOF JOIN (
        SELECT device, ts, max(ts + coalesce(dur, 0)) OVER (PARTITION BY device ORDER BY ts) AS stop
        FROM ascend_device WHERE kind = 'comm'
    ) c ON c.device IS NOT DISTINCT FROM d.device AND d.ts >= c.ts
    WHERE d.kind = 'copy' AND d.bytes IS NULL AND d.direction IS NULL AND d.ts < c.stop)
"""

#: Kernels of a collective are no computing of the program.
_EXPANDED: Final = f"""
UPDATE ascend_device SET kind = 'part'
WHERE kind = 'compute' AND regexp_matches(name, '{COLLECTIVES_OWN}')
    AND EXISTS (FROM ascend_device WHERE kind = 'comm')
"""

_CORES: Final = f"UPDATE ascend_device SET core = MAP {CORES}[core] WHERE core LIKE 'KERNEL\\_%' ESCAPE '\\'"

#: Calls of lower CANN layers inside a launch are not launches themselves.
_INNER_CALLS: Final = """
UPDATE ascend_host SET category = 'runtime'
FROM (
    WITH launches AS (
        SELECT i, ts, ts + coalesce(dur, 0) AS stop, process, thread, connection FROM ascend_host
        WHERE category = 'launch'
    )
    SELECT inner_.i
    FROM (SELECT * FROM launches ANTI JOIN ascend_device USING (connection)) inner_
    ASOF JOIN (SELECT * FROM launches SEMI JOIN ascend_device USING (connection)) outer_
    ON inner_.process = outer_.process AND inner_.thread = outer_.thread AND inner_.ts >= outer_.ts
    WHERE inner_.stop <= outer_.stop
) inside
WHERE ascend_host.i = inside.i
"""


def link(staging: Staging) -> None:
    """Complete operators in `ascend_device` and directions of copies; distinguish launches from calls inside them."""
    for statement in (_TAKEN, _DIRECTIONS):
        staging.connection.execute(statement)
    _link_enqueued(staging)
    for statement in (_SAME_CONNECTION, _MOVES, _EXPANDED, _CORES, _INNER_CALLS):
        staging.connection.execute(statement)
    staging.connection.execute("DROP TABLE ascend_taken")


def _link_enqueued(staging: Staging) -> None:
    """Link device work in `ascend_taken` without operator to the innermost one around the event that enqueues it."""
    connection = staging.connection
    connection.execute(_MOMENTS)
    moments = connection.execute("SELECT i, number, ts FROM ascend_moments ORDER BY number, ts").fetchnumpy()
    if moments["i"].size:
        operators = connection.execute(_OPERATORS).fetchnumpy()
        inner = _on_each_thread(moments, operators)
        found = inner >= 0
        linked = {"i": moments["i"][found], "op": operators["i"][inner[found]], "ts": operators["ts"][inner[found]]}
        connection.execute("CREATE TABLE ascend_enqueued (i BIGINT, op BIGINT, ts BIGINT)")
        staging.insert("ascend_enqueued", pa.table(linked))
        connection.execute(_THROUGH_QUEUE)
        connection.execute("DROP TABLE ascend_enqueued")
    connection.execute("DROP TABLE ascend_moments")


def _on_each_thread(moments: dict[str, NDArray[Any]], operators: dict[str, NDArray[Any]]) -> Times:
    """Position of the innermost operator around each moment, -1 if there is none."""
    found = np.full(moments["ts"].size, -1)
    for number in np.unique(moments["number"]).tolist():
        mine, theirs = (slice(*np.searchsorted(one["number"], (number, number + 1))) for one in (moments, operators))
        inner = innermost(operators["ts"][theirs], operators["stop"][theirs], moments["ts"][mine])
        found[mine] = np.where(inner >= 0, inner + theirs.start, -1)
    return found
