"""Link device work to the framework's operators where no flow is recorded.

An operator enqueues a task; another thread dequeues it and calls CANN, which launches the work. The call and the work
share a connection id, enqueue and dequeue share the queue's number.
"""

from __future__ import annotations

from typing import Final

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

#: The innermost operator around the event that enqueues the task.
_THROUGH_QUEUE: Final = """
UPDATE ascend_device SET op = o.op
FROM (
    SELECT p.i, arg_max(h.i, h.ts) AS op
    FROM (
        SELECT t.i, e.process, e.thread, e.ts, e.name
        FROM ascend_taken t JOIN ascend_host e ON e.queue = t.queue AND e.name NOT LIKE 'Dequeue%'
    ) p
    JOIN ascend_host h ON h.process = p.process AND h.thread = p.thread AND h.ts <= p.ts AND h.ts + h.dur >= p.ts
    WHERE h.category = 'op' GROUP BY 1
) o
WHERE o.i = ascend_device.i AND ascend_device.op IS NULL
"""

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
    for statement in (_TAKEN, _DIRECTIONS, _THROUGH_QUEUE, _SAME_CONNECTION, _INNER_CALLS):
        staging.connection.execute(statement)
    staging.connection.execute("DROP TABLE ascend_taken")
