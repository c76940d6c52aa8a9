"""Memory and counters from a database, with the names and units of the text export."""

from __future__ import annotations

from typing import Final

from stepscope.language import said
from stepscope.readers.ascend.database.tables import AscendDatabase, Columns, Kind
from stepscope.readers.ascend.memory import OTHER_ALLOCATOR
from stepscope.store.staging import Staging

_BLOCK_COLUMNS: Final[Columns] = {
    "name": "int", "size": "int", "allocationTime": "int", "releaseTime": "int", "allocationTotalAllocated": "int",
    "allocationTotalReserved": "int", "releaseTotalAllocated": "int", "releaseTotalReserved": "int",
    "deviceId": "index",
}  # fmt: skip

_BLOCKS: Final = """
INSERT INTO ascend_blocks
SELECT b.rowid, s.value, b."deviceId", abs(b.size), b."allocationTime", b."releaseTime", {totals}
FROM db_blocks b LEFT JOIN db_strings s ON s.id = b.name
"""
_TOTALS: Final = (
    "allocationTotalAllocated",
    "allocationTotalReserved",
    "releaseTotalAllocated",
    "releaseTotalReserved",
)

#: (The text export writes LLC hit rates as fractions, though their name says percent, and 2^20 bytes as MB.)
#: Tables of samples: (table, columns, unit, [(name, value)]) with SQL over the columns, strings `v` by `text_id`.
_SAMPLES: Final[tuple[tuple[str, tuple[str, ...], str, str, tuple[tuple[str, str], ...]], ...]] = (
    (
        "MEMORY_RECORD", ("component", "timestamp", "totalAllocated", "totalReserved", "totalActive"), "memory",
        "timestamp",
        (("v || ' allocated'", '"totalAllocated"'), ("v || ' reserved'", '"totalReserved"'),
         ("v || ' active'", '"totalActive"')),
    ),
    ("AICORE_FREQ", ("timestampNs", "freq"), "AI Core Freq", "timestampNs", (("'AI Core Freq MHz'", "freq"),)),
    (
        "HBM", ("type", "timestampNs", "bandwidth", "hbmId"), "HBM", "timestampNs",
        (("'HBM ' || \"hbmId\" || '/' || upper(v[1]) || v[2:] || ' ' || upper(v[1]) || v[2:] || '(MB/s)'",
          "bandwidth / 1048576"),),
    ),
    (
        "LLC", ("mode", "timestampNs", "llcId", "hitRate", "throughput"), "LLC", "timestampNs",
        (("'LLC ' || \"llcId\" || ' ' || upper(v[1]) || v[2:] || '/Throughput Throughput(MB/s)'",
          "throughput / 1048576"),
         ("'LLC ' || \"llcId\" || ' ' || upper(v[1]) || v[2:] || '/Hit Rate Hit Rate(%)'", '"hitRate" / 100')),
    ),
    (
        "NPU_MEM", ("type", "timestampNs", "ddr", "hbm"), "NPU MEM", "timestampNs",
        (("CASE v WHEN 'app' THEN 'APP' WHEN 'device' THEN 'Device' ELSE v END || '/DDR KB'", "ddr / 1024"),
         ("CASE v WHEN 'app' THEN 'APP' WHEN 'device' THEN 'Device' ELSE v END || '/HBM KB'", "hbm / 1024"),
         ("CASE v WHEN 'app' THEN 'APP' WHEN 'device' THEN 'Device' ELSE v END || '/Memory KB'", "(ddr + hbm) / 1024")),
    ),
    (
        "ACC_PMU", ("timestampNs", "accId", "readBwLevel", "writeBwLevel", "readOstLevel", "writeOstLevel"), "Acc PMU",
        "timestampNs",
        (("'read_bandwidth ' || \"accId\"", '"readBwLevel"'), ("'write_band_width ' || \"accId\"", '"writeBwLevel"'),
         ("'read_ost ' || \"accId\"", '"readOstLevel"'), ("'write_ost ' || \"accId\"", '"writeOstLevel"')),
    ),
    (
        "SOC_BANDWIDTH_LEVEL", ("timestampNs", "l2BufferBwLevel", "mataBwLevel"), "Stars Soc Info", "timestampNs",
        (("'Mata Bw Level'", '"mataBwLevel"'), ("'L2 Buffer Bw Level'", '"l2BufferBwLevel"')),
    ),
)  # fmt: skip

#: Samples without a value, but those of a kind that never has one, which is not measured; and values without a name.
_ABSENT: Final = """
SELECT (sum(rows - given) FILTER (name IS NOT NULL AND given > 0))::BIGINT, (sum(given) FILTER (name IS NULL))::BIGINT
FROM (SELECT name, count(*) AS rows, count(value) AS given FROM ({rows}) GROUP BY name)
"""

_MODULE_COLUMNS: Final[Columns] = {"moduleId": "int", "timestampNs": "int", "totalReserved": "amount"}

#: Columns that identify the subject in other tables of samples; their other columns are series.
_KEYS: Final = ("deviceId", "timestampNs", "type", "mode", "bus", "funcId", "port", "portId", "hbmId", "depth", "id")
#: Series of several ports are apart.
_PORTS: Final = ("funcId", "portId", "port")
_OTHER: Final = ("NIC", "ROCE", "HCCS", "PCIE", "QOS", "SIO", "UB", "DDR", "NETDEV_STATS", "LOW_POWER", "CPU_USAGE",
                 "HOST_MEM_USAGE", "HOST_DISK_USAGE", "HOST_NETWORK_USAGE")  # fmt: skip


def gather(database: AscendDatabase, staging: Staging) -> None:
    """Fill `ascend_blocks` and `ascend_counters`, and report unknown tables."""
    connection = staging.connection
    database.load(staging, "OP_MEMORY", _BLOCK_COLUMNS, "db_blocks")
    own = f"coalesce(s.value, '') NOT LIKE '{OTHER_ALLOCATOR}%'"
    totals = ", ".join(f'CASE WHEN {own} THEN b."{total}" END' for total in _TOTALS)
    connection.execute(_BLOCKS.format(totals=totals))
    for table, columns, unit, time, series in _SAMPLES:
        loaded = f"db_{table.lower()}"
        # The first column, unless a time, is the kind of sample.
        wanted: Columns = {column: _KINDS.get(column, "int") for column in columns}
        database.load(staging, table, wanted, loaded, time=time)
        text = "NULL" if columns[0] == "timestampNs" else f'"{columns[0]}"'
        absent = nameless = 0
        for name, value in series:
            rows = (
                f'SELECT ts, name, value FROM (SELECT "{time}" AS ts, {name} AS name, {value} AS value '
                f"FROM (SELECT d.*, s.value AS v FROM {loaded} d LEFT JOIN db_strings s ON s.id = {text})) "
                "WHERE ts IS NOT NULL"
            )
            [missing, unnamed] = staging.one(_ABSENT.format(rows=rows))
            absent += missing or 0
            nameless += unnamed or 0
            connection.execute(
                f"INSERT INTO ascend_counters SELECT ts, ?, name, value FROM ({rows}) "
                "WHERE name IS NOT NULL AND isfinite(value::DOUBLE)",
                [unit],
            )
        staging.observe(
            "values-unreadable", "warning", absent, said("samples of {table} have no value", table=table),
            "they are missing from what was measured; the file may be damaged",
        )  # fmt: skip
        staging.observe(
            "values-unreadable", "warning", nameless, said("samples of {table} have no name", table=table),
            "they are missing from what was measured; the file may be damaged",
        )  # fmt: skip
        connection.execute(f"DROP TABLE {loaded}")
    _gather_modules(database, staging)
    for table in _OTHER:
        _gather_other(database, staging, table)


#: What is measured; the other columns are times and ids.
_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("bandwidth", "hitRate", "throughput", "freq", "ddr", "hbm"), "real"),
    **dict.fromkeys(("totalAllocated", "totalReserved", "totalActive"), "amount"),
    **dict.fromkeys(("readBwLevel", "writeBwLevel", "readOstLevel", "writeOstLevel"), "amount"),
    **dict.fromkeys(("l2BufferBwLevel", "mataBwLevel"), "amount"),
}


def _gather_modules(database: AscendDatabase, staging: Staging) -> None:
    connection = staging.connection
    database.load(staging, "NPU_MODULE_MEM", _MODULE_COLUMNS, "db_modules", time="timestampNs")
    database.load(staging, "ENUM_MODULE", {"id": "int", "name": "text"}, "db_module_names")
    connection.execute(
        "INSERT INTO ascend_counters SELECT \"timestampNs\", 'module memory', "
        "'module ' || coalesce(n.name, m.\"moduleId\"::VARCHAR) || ' reserved', \"totalReserved\" FROM db_modules m "
        'LEFT JOIN db_module_names n ON n.id = m."moduleId" '
        'WHERE "timestampNs" IS NOT NULL AND "totalReserved" IS NOT NULL'
    )


def _gather_other(database: AscendDatabase, staging: Staging, table: str) -> None:
    """Gather every number of a table of samples without a definition here."""
    columns = database.columns.get(table, ())
    if "timestampNs" not in columns:
        return
    series = [column for column in columns if column not in _KEYS]
    loaded = f"db_{table.lower()}"
    wanted: dict[str, Kind] = {"timestampNs": "int"}
    port = next((column for column in _PORTS if column in columns), None)
    wanted.update(dict.fromkeys(series, "real"))
    if port:
        wanted[port] = "int"
    suffix = f"coalesce(' ' || \"{port}\", '')" if port else "''"
    database.load(staging, table, wanted, loaded, time="timestampNs")
    for column in series:
        quoted = '"' + column.replace('"', '""') + '"'
        staging.connection.execute(
            f'INSERT INTO ascend_counters SELECT "timestampNs", ?, ? || {suffix}, {quoted} FROM {loaded} '
            f'WHERE "timestampNs" IS NOT NULL AND isfinite({quoted})',
            [table, column],
        )
