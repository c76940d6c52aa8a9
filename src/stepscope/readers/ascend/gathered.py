"""Intermediate tables of both exports: host calls, device tasks, collectives and their parts.

`trace_view` and `database` fill these tables; `kernel_details` completes them; `stage` makes canonical tables of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.store.staging import Staging


@dataclass(frozen=True, slots=True)
class RankMetadata:
    """Metadata of a rank's files beside their tables.

    Attributes:
        rank: Rank as recorded in a database; None if not.
        host: Name of the machine.
        metadata: Like the contents of `profiler_metadata.json`.
        operations: Name of the group of each collective.
        attributes: Further metadata of the recording.
    """

    rank: int | None = None
    host: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    operations: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str | int | float | bool] = field(default_factory=dict)


#: Events of host threads. `connection` links a call to the device work that it launches, `queue` links enqueuing a task
#: on the framework's queue to dequeuing it.
HOST: Final = (
    "CREATE TABLE ascend_host (i BIGINT, ts BIGINT, dur BIGINT, process VARCHAR, thread VARCHAR, name VARCHAR, "
    "category VARCHAR, connection BIGINT, queue BIGINT)"
)

#: Work and waits on device queues. `op` is the event of the framework's operator; `operands` are the types of a
#: kernel's inputs, `hf32` says whether the cube may round those in fp32; `args` is JSON.
DEVICE: Final = (
    "CREATE TABLE ascend_device (i BIGINT, ts BIGINT, dur BIGINT, device INTEGER, stream VARCHAR, name VARCHAR, "
    "task_type VARCHAR, kind VARCHAR, connection BIGINT, op BIGINT, model BIGINT, bytes BIGINT, direction VARCHAR, "
    "op_type VARCHAR, core VARCHAR, operands VARCHAR, hf32 VARCHAR, args VARCHAR)"
)

#: Collectives: `elements` of `dtype` in one buffer, `group_name` where the export gives it.
COLLECTIVES: Final = "CREATE TABLE ascend_collectives (i BIGINT, group_name VARCHAR, dtype VARCHAR, elements BIGINT)"

#: Parts of collectives, on planes of groups.
PARTS: Final = (
    "CREATE TABLE ascend_parts (i BIGINT, ts BIGINT, dur BIGINT, device INTEGER, lane VARCHAR, plane INTEGER, "
    "name VARCHAR, task_type VARCHAR, src BIGINT, dst BIGINT, transport VARCHAR, link VARCHAR, bytes BIGINT, "
    "collective BIGINT)"
)

#: The collective of a task on a stream, where its export tells.
TASK_COLLECTIVES: Final = "CREATE TABLE ascend_task_collectives (i BIGINT, collective BIGINT)"

#: Inputs of operators as the profiler writes them.
INPUTS: Final = (
    "CREATE TABLE ascend_inputs (i BIGINT, shapes VARCHAR, dtypes VARCHAR, stack VARCHAR, module VARCHAR, "
    "sequence BIGINT, forward_thread BIGINT)"
)

#: Ends of flows between host threads.
HOST_FLOWS: Final = (
    "CREATE TABLE ascend_host_flows (kind VARCHAR, key VARCHAR, is_source BOOLEAN, ts BIGINT, process VARCHAR, "
    "thread VARCHAR)"
)

COUNTERS: Final = "CREATE TABLE ascend_counters (ts BIGINT, unit VARCHAR, name VARCHAR, value DOUBLE)"

#: Memory blocks: times of allocation and free, with the allocator's totals at both times.
BLOCKS: Final = (
    "CREATE TABLE ascend_blocks (row BIGINT, name VARCHAR, device INTEGER, bytes BIGINT, taken BIGINT, "
    "given_back BIGINT, allocated BIGINT, reserved BIGINT, allocated_after BIGINT, reserved_after BIGINT)"
)


def create(staging: Staging) -> None:
    """Create the tables."""
    for statement in (HOST, DEVICE, COLLECTIVES, PARTS, TASK_COLLECTIVES, INPUTS, HOST_FLOWS, COUNTERS, BLOCKS):
        staging.connection.execute(statement)
