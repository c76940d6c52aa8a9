"""Memory of operators, components and modules."""

from __future__ import annotations

from typing import Final

from stepscope.readers.ascend.csvfile import CsvTable
from stepscope.store.staging import Staging

_KIB: Final = 1 << 10
_MIB: Final = 1 << 20

#: The profiler gives no addresses here: a block is called by its row, counted from 1. Its thread is that of the event
#: of the same name in which it was taken.
_EVENTS: Final = """
INSERT INTO raw_memory
SELECT m.ts, m.track, m.device, m.row + 1, m.bytes, m.allocated, m.reserved
FROM (
    SELECT b.taken AS ts, CASE WHEN b.taken <= h.ts + coalesce(h.dur, 0) THEN t.track END AS track, b.device, b.row,
        b.bytes, b.allocated, b.reserved
    FROM (SELECT * FROM ascend_blocks WHERE taken IS NOT NULL) b
    ASOF LEFT JOIN ascend_host h ON h.name = b.name AND b.taken >= h.ts
    LEFT JOIN ascend_tracks t ON t.kind = 'host' AND t.first = h.process AND t.second = h.thread
    UNION ALL
    SELECT given_back, NULL, device, row, -bytes, allocated_after, reserved_after
    FROM ascend_blocks WHERE given_back IS NOT NULL
) m ORDER BY m.ts, m.row
"""

_TOTALS: Final = """
INSERT INTO raw_memory BY NAME
SELECT ts, d.device, max(value) FILTER (WHERE name = 'PTA allocated')::BIGINT AS allocated,
    max(value) FILTER (WHERE name = 'PTA reserved')::BIGINT AS reserved
FROM ascend_counters, (SELECT min(device) AS device FROM ascend_device) d
WHERE unit = 'memory' AND name IN ('PTA allocated', 'PTA reserved') GROUP BY 1, 2 ORDER BY 1
"""


def read_operator_memory(staging: Staging, table: CsvTable) -> None:
    """Blocks of `operator_memory.csv`."""
    staging.connection.execute(
        f"INSERT INTO ascend_blocks SELECT row, {table.text('Name')}, {_device(table)}, "
        f"{table.scaled(_KIB, 'Size(KB)')}, {table.nanoseconds('Allocation Time(us)')}, "
        f"{table.nanoseconds('Release Time(us)')}, {table.scaled(_MIB, 'Allocation Total Allocated(MB)')}, "
        f"{table.scaled(_MIB, 'Allocation Total Reserved(MB)')}, {table.scaled(_MIB, 'Release Total Allocated(MB)')}, "
        f"{table.scaled(_MIB, 'Release Total Reserved(MB)')} FROM {table.name}"
    )


def read_components(staging: Staging, table: CsvTable) -> None:
    """Totals of `memory_record.csv` as counters, in bytes: one series per component and kind of total."""
    for column, series in (
        ("Total Allocated(MB)", "allocated"), ("Total Reserved(MB)", "reserved"), ("Total Active(MB)", "active"),
    ):  # fmt: skip
        staging.connection.execute(
            f"INSERT INTO ascend_counters SELECT ts, 'memory', component || ' {series}', value FROM (SELECT "
            f"{table.nanoseconds('Timestamp(us)')} AS ts, {table.text('Component')} AS component, "
            f"{table.scaled(_MIB, column)} AS value FROM {table.name}) "
            "WHERE ts IS NOT NULL AND value IS NOT NULL AND component IS NOT NULL"
        )


def read_modules(staging: Staging, table: CsvTable) -> None:
    """Memory that each module of CANN holds (`npu_module_mem.csv`) as counters, in bytes."""
    staging.connection.execute(
        "INSERT INTO ascend_counters SELECT ts, 'module memory', 'module ' || component || ' reserved', value "
        "FROM (SELECT "
        f"{table.nanoseconds('Timestamp(us)')} AS ts, {table.text('Component')} AS component, "
        f"{table.scaled(_MIB, 'Total Reserved(MB)')} AS value FROM {table.name}) "
        "WHERE ts IS NOT NULL AND value IS NOT NULL AND component IS NOT NULL"
    )


def stage_memory(staging: Staging) -> None:
    """Allocations and frees of all blocks; the framework's totals where no single blocks are told of."""
    staging.connection.execute(_EVENTS)
    if staging.one("SELECT count(*) FROM ascend_blocks") == (0,):
        staging.connection.execute(_TOTALS)


def _device(table: CsvTable) -> str:
    return f"try_cast(regexp_extract({table.text('Device Type', 'Device')}, '(\\d+)', 1) AS INTEGER)"
