"""Tables of links, memory and processors: samples with a time become counters, all others are stored as recorded."""

from __future__ import annotations

from typing import Final

from stepscope.readers.ascend.csvfile import CsvTable, at_a_time
from stepscope.readers.ascend.tables.series import add_series
from stepscope.readers.untrusted import quoted_name
from stepscope.store.staging import Staging

_TIMES: Final = ("Timestamp(us)", "Timestamp", "Time(us)", "Start Time(us)")
_DEVICES: Final = frozenset({"device_id", "device id", "device"})
#: Columns that say of what a row is, though they may be numbers.
_KEYS: Final = frozenset({
    "funcid", "func id", "port", "portid", "port id", "mode", "type", "name",
})  # fmt: skip


def add_samples(staging: Staging, table: CsvTable, kind: str) -> None:
    """Store every number of a table whose kind is `kind`, under the names of its columns."""
    time = next((column for column in _TIMES if table.has(column)), None)
    others = [column for column in table.columns if column != time and column.lower() not in _DEVICES]
    words = [column for column in others if column.lower() in _KEYS]
    for several in at_a_time([column for column in others if column not in words]):
        counts = ", ".join(f"count(try_cast({quoted_name(c)} AS DOUBLE)), count({table.text(c)})" for c in several)
        found = staging.one(f"SELECT {counts} FROM {table.name}")
        pairs = zip(several, found[::2], found[1::2], strict=True)
        numbers = [column for column, right, told in pairs if 2 * right > told]
        for column in numbers:
            _add(staging, table, kind, time, words, column)


def _add(staging: Staging, table: CsvTable, kind: str, time: str | None, words: list[str], column: str) -> None:
    subject = f"concat_ws(' ', {', '.join(map(table.text, words))})" if words else "''"
    values = f"SELECT row, {subject} AS subject, {table.number(column)} AS value"
    if time is None:
        staging.connection.execute(
            f"INSERT INTO recorded SELECT $kind, NULL, subject, $name, value FROM ({values} FROM {table.name}) "
            "WHERE value IS NOT NULL ORDER BY row",
            {"kind": kind, "name": column},
        )
        return
    samples = (
        "SELECT row, ts, trim($name || ' ' || subject) AS name, value, is_empty FROM ("
        f"{values}, {table.nanoseconds(time)} AS ts, {table.text(column)} IS NULL AS is_empty FROM {table.name})"
    )
    add_series(staging, table, kind.upper(), samples, {"name": column}, whole=False)
