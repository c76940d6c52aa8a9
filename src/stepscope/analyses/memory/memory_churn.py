"""How often the caching allocator called the driver, which blocks the host and often the device."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.memory.memory_levels import memory_levels
from stepscope.analyses.registry import Analysis
from stepscope.model import runtime_names
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, count, ns, number, size
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MEMORY_CHURN = TableSchema(
    "memory_churn",
    "One row per step, and one with `step` null for the whole recording: device memory of all devices of the rank.",
    (
        RANK,
        Column("step", "int32", "Step, as in `steps`; null for the whole recording.", "", True),
        count("allocations", "Allocations from the caching allocator, 0 if not recorded."),
        count("frees", "Frees to it, 0 if not recorded."),
        size("allocated_bytes", "Sum of the allocations' sizes."),
        Column("growths", "int64", "How often the reserved total grew; null if not recorded.", "count", True),
        size("grown_bytes", "By how much in all; null likewise.", nullable=True),
        Column("shrinks", "int64", "How often it shrank; null likewise.", "count", True),
        size("shrunk_bytes", "By how much in all; null likewise.", nullable=True),
        number("changes_per_1000", "Growths and shrinks per thousand allocations; null likewise.", nullable=True),
        count("driver_allocations", "Calls that take device memory from the driver."),
        ns("driver_allocation_ns", "Host time in them."),
        count("driver_frees", "Calls that give it back."),
        ns("driver_free_ns", "Host time in them."),
    ),
)

_NAMES_SQL: Final = (
    "SELECT name_id, name FROM names WHERE name_id IN (SELECT name_id FROM spans WHERE category = 'runtime')"
)
_CALLS_SQL: Final = """
SELECT ts, coalesce(dur, 0) AS dur, name_id IN (SELECT unnest($frees)) AS is_free
FROM spans WHERE category = 'runtime' AND name_id IN (SELECT unnest($calls)) ORDER BY ts
"""
_STEPS_SQL: Final = "SELECT step, ts, ts + dur AS stop FROM steps ORDER BY ts"
_RECORDED_SQL: Final = "SELECT count(*) FROM memory WHERE device IS NOT NULL"

_HOST: Final = re.compile(r"Host", re.I)
_GIVES_BACK: Final = re.compile(r"Free|Release|Unmap|Trim", re.I)

Columns = dict[str, NDArray[Any]]


def memory_churn(trace: Trace) -> Table:
    """Count what the allocator did, step by step.

    Raises:
        MissingInputError: Neither allocations nor calls of the driver's allocator are recorded.
    """
    changes, calls = _changes(trace), _calls(trace)
    if not changes["ts"].size and not calls["ts"].size:
        raise MissingInputError.of("allocations")
    steps = trace.columns(_STEPS_SQL)
    rows = [
        (trace.ranks[0], step, *_count(_between(changes, low, high), _between(calls, low, high)))
        for step, low, high in zip(steps["step"].tolist(), steps["ts"].tolist(), steps["stop"].tolist(), strict=True)
    ]
    rows.append((trace.ranks[0], None, *_count(changes, calls)))
    return Table.from_rows(MEMORY_CHURN, rows)


def _changes(trace: Trace) -> Columns:
    """Allocations and frees of device memory, with the change of the reserved total and whether it is known."""
    parts: list[tuple[NDArray[Any], ...]] = []
    if trace.scalar(_RECORDED_SQL):
        for levels in memory_levels(trace):
            if levels.device is not None:
                change = np.diff(levels.reserved, prepend=levels.reserved[:1])
                parts.append((levels.ts, levels.bytes, change, levels.reserved >= 0))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.zeros(0, np.int64)] * 4
    order = np.argsort(columns[0], kind="stable")
    return {name: column[order] for name, column in zip(("ts", "bytes", "change", "known"), columns, strict=True)}


def _calls(trace: Trace) -> Columns:
    names = {row["name_id"]: row["name"] for row in trace.rows(_NAMES_SQL)}
    calls = [i for i, name in names.items() if runtime_names.is_allocation(name) and not _HOST.search(name)]
    frees = [i for i in calls if _GIVES_BACK.search(names[i])]
    return trace.columns(_CALLS_SQL, {"calls": calls, "frees": frees})


def _between(rows: Columns, low: int, high: int) -> Columns:
    first, last = np.searchsorted(rows["ts"], (low, high))
    return {name: values[first:last] for name, values in rows.items()}


def _count(changes: Columns, calls: Columns) -> tuple[Any, ...]:
    sizes, change, is_free = changes["bytes"], changes["change"], calls["is_free"].astype(np.bool_)
    made = int((sizes > 0).sum())
    grown, shrunk = change[change > 0], change[change < 0]
    known = bool(changes["known"].any())
    held = (grown.size, int(grown.sum()), shrunk.size, -int(shrunk.sum())) if known else (None,) * 4
    return (
        made,
        int((sizes < 0).sum()),
        int(sizes[sizes > 0].sum()),
        *held,
        1000 * (grown.size + shrunk.size) / made if known and made else None,
        int((~is_free).sum()),
        int(calls["dur"][~is_free].sum()),
        int(is_free.sum()),
        int(calls["dur"][is_free].sum()),
    )


ANALYSES = (Analysis(MEMORY_CHURN, memory_churn),)
