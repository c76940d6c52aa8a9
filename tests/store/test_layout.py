"""The version of stored files follows from what they hold."""

from __future__ import annotations

from dataclasses import replace

from stepscope.model.schema import Column, TableSchema
from stepscope.model.tables import EVENTS
from stepscope.store import layout
from stepscope.store.layout import STORED_TABLES, VERSION

TABLE = TableSchema("a", "A table.", (Column("x", "int64", "A number."), Column("y", "string", "A text.")))


def version(table: TableSchema, columns: tuple[str, ...] = ("id",)) -> str:
    return layout._version([table], columns)


def test_a_description_changes_nothing() -> None:
    assert version(TABLE) == version(replace(TABLE, description="Another."))


def test_every_change_of_what_is_stored_is_another_version() -> None:
    x, y = TABLE.columns
    others = [
        version(replace(TABLE, columns=(x,))),
        version(replace(TABLE, columns=(y, x))),
        version(replace(TABLE, columns=(x, replace(y, type="bool")))),
        version(replace(TABLE, columns=(x, replace(y, name="z")))),
        version(replace(TABLE, name="b")),
        version(TABLE, ("id", "ts")),
    ]
    assert len({version(TABLE), *others}) == len(others) + 1


def test_all_that_is_stored_is_part_of_it() -> None:
    assert layout._version(STORED_TABLES, layout.SPAN_COLUMNS) == VERSION
    assert layout._version(STORED_TABLES[1:], layout.SPAN_COLUMNS) != VERSION
    assert set(layout.SPAN_COLUMNS) - {"name_id"} <= {column.name for column in EVENTS.columns}
