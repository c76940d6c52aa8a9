"""The canonical tables, which every reader's recording is converted to.

`docs/schema.md` is generated from these declarations (`stepscope schema`). Times are integer
nanoseconds since the trace's origin; `manifest.json` of a store holds the origin in Unix time.
`(rank, id)` identifies an event.
"""

from __future__ import annotations

from typing import Final

from stepscope.model.tables.columns import RANK
from stepscope.model.tables.communication import COLLECTIVES, COMM_TASKS, GROUPS
from stepscope.model.tables.devices import COPIES, DEVICES, KERNEL_COUNTERS, KERNEL_METRICS, KERNELS, SAMPLES
from stepscope.model.tables.events import COUNTERS, EVENTS, FLOWS, MEMORY, OP_INPUTS, STEPS, TRACKS
from stepscope.model.tables.machine import MACHINE, MACHINE_TABLES, STORAGES
from stepscope.model.tables.memory import MEMORY_TABLES
from stepscope.model.tables.recording import HEALTH, LONG_TEXTS, RECORDED

__all__ = [
    "BY_NAME",
    "COLLECTIVES",
    "COMM_TASKS",
    "COPIES",
    "COUNTERS",
    "DEVICES",
    "EVENTS",
    "FLOWS",
    "GROUPS",
    "HEALTH",
    "KERNELS",
    "KERNEL_COUNTERS",
    "KERNEL_METRICS",
    "LONG_TEXTS",
    "MACHINE",
    "MEMORY",
    "OP_INPUTS",
    "RANK",
    "RECORDED",
    "SAMPLES",
    "STEPS",
    "STORAGES",
    "TABLES",
    "TRACKS",
]

TABLES: Final = (
    EVENTS, TRACKS, KERNELS, KERNEL_METRICS, KERNEL_COUNTERS, COLLECTIVES, COMM_TASKS, COPIES, MEMORY, COUNTERS,
    SAMPLES, FLOWS, STEPS, DEVICES, OP_INPUTS, GROUPS, *MEMORY_TABLES, *MACHINE_TABLES, RECORDED, LONG_TEXTS, HEALTH,
)  # fmt: skip
BY_NAME: Final = {table.name: table for table in TABLES}
