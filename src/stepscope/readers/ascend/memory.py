"""Stage memory of operators, components and modules."""

from __future__ import annotations

from typing import Final

from stepscope.readers.ascend.csvfile import CsvTable
from stepscope.readers.ascend.tables.series import add_series
from stepscope.store.staging import Staging

#: Blocks of the graph engine, whose totals are its own and not those of the framework's allocator.
OTHER_ALLOCATOR: Final = "cann::"

#: Blocks have no addresses here: they are numbered by row, from 1. A block's thread is that of the event of the same
#: name in which it was allocated.
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

#: Totals of the framework's allocator (PTA of PyTorch's), recorded at each allocation and free of a block.
_TOTALS: Final = """
INSERT INTO raw_memory BY NAME
SELECT ts, d.device, try_cast(max(value) FILTER (WHERE name LIKE '% allocated') AS BIGINT) AS allocated,
    try_cast(max(value) FILTER (WHERE name LIKE '% reserved') AS BIGINT) AS reserved
FROM ascend_counters,
    (SELECT coalesce((SELECT min(device) FROM ascend_blocks), (SELECT min(device) FROM ascend_device)) AS device) d
WHERE unit = 'memory' AND regexp_matches(name, '^(PTA|MindSpore) (allocated|reserved)$') GROUP BY 1, 2 ORDER BY 1
"""


def read_operator_memory(staging: Staging, table: CsvTable) -> None:
    """Read the blocks of `operator_memory.csv`.

    Blocks allocated before the recording and freed in it have a negative size and no time of allocation. `msprof`
    writes how long a block was kept, in place of when it was given back.
    """
    own = f"coalesce({table.text('Name')}, '') NOT LIKE '{OTHER_ALLOCATOR}%'"
    totals = ", ".join(
        f"CASE WHEN {own} THEN {table.size(f'{when} Total {what}')[1]} END"
        for when in ("Allocation", "Release")
        for what in ("Allocated", "Reserved")
    )
    taken, given_back = table.nanoseconds("Allocation Time(us)"), table.nanoseconds("Release Time(us)")
    if not table.has("Release Time(us)"):
        given_back = f"try({taken} + {table.nanoseconds('Duration(us)')})"
    staging.connection.execute(
        f"INSERT INTO ascend_blocks SELECT row, {table.text('Name')}, {_device(table)}, "
        f"abs({table.size('Size')[1]}), {taken}, {given_back}, {totals} FROM {table.name}"
    )


def read_components(staging: Staging, table: CsvTable) -> None:
    """Read totals of `memory_record.csv` as counters in bytes: one series per component and kind of total."""
    sizes = [table.size(f"Total {kind}") for kind in ("Allocated", "Reserved", "Active")]
    totals = ", ".join(bytes_ for _, bytes_ in sizes)
    empty = ", ".join(f"{table.text(title)} IS NULL" for title, _ in sizes)
    samples = (
        f"SELECT row, {table.nanoseconds('Timestamp(us)')} AS ts, {table.text('Component')} || ' ' || "
        f"unnest(['allocated', 'reserved', 'active']) AS name, unnest([{totals}]) AS value, "
        f"unnest([{empty}]) AS is_empty FROM {table.name}"
    )
    add_series(staging, table, "memory", samples)


def read_modules(staging: Staging, table: CsvTable) -> None:
    """Read the memory of each CANN module (`npu_module_mem.csv`) as counters in bytes.

    Below 0 is what a module gave back that it had taken before the recording: how much it held is not known.
    """
    title, reserved = table.size("Total Reserved")
    samples = (
        f"SELECT row, {table.nanoseconds('Timestamp(us)')} AS ts, "
        f"'module ' || {table.text('Component')} || ' reserved' AS name, "
        f"{reserved} AS value, {table.text(title)} IS NULL AS is_empty FROM {table.name} "
        f"WHERE coalesce({reserved}, 0) >= 0"
    )
    add_series(staging, table, "module memory", samples)


def stage_memory(staging: Staging) -> None:
    """Stage allocations and frees of all blocks, and the framework's totals."""
    [untimed] = staging.one("SELECT count(*) FROM ascend_blocks WHERE taken IS NULL AND given_back IS NULL")
    staging.observe(
        "blocks-untimed", "warning", untimed, "blocks of memory have no time, neither of taking nor of giving back",
        "they are left out; the file that lists them may be damaged",
    )  # fmt: skip
    staging.connection.execute(_EVENTS)
    staging.connection.execute(_TOTALS)


def _device(table: CsvTable) -> str:
    return f"try_cast(regexp_extract({table.text('Device Type', 'Device')}, '(\\d+)', 1) AS INTEGER)"
