"""Tables of the report, the canonical tables behind them, and SQL over those."""

from __future__ import annotations

from typing import Any, Final

from stepscope.agents.bounds import MOST_ROWS, page
from stepscope.agents.opened import Recordings
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.schema import Column
from stepscope.model.suggest import choose
from stepscope.model.tables import TABLES
from stepscope.store.queried import answer

#: Rows of a query that can be paged through.
_QUERIED: Final = 10_000


class TableTools:
    """Tools about rows."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings

    def tables(self, recording: str = "") -> Any:
        """Names of the report's tables with rows and meaning: budgets, idle causes, kernels, copies, memory and so on.

        Args:
            recording: Name from `recordings`.
        """
        report = self._recordings.get(recording).report
        return {
            "tables": {
                name: {"rows": len(table), "what": table.schema.description}
                for name, table in report.tables.items()
                if len(table)
            },
            "empty": [name for name, table in report.tables.items() if not len(table)],
            "next": "table(name=NAME, recording=...); `health` says why tables are empty",
        }

    def table(
        self, name: str, recording: str = "", columns: str = "", where: str = "", sort: str = "", limit: int = 50,
        offset: int = 0,
    ) -> Any:  # fmt: skip
        """Rows of one of the report's tables.

        Args:
            name: Name from `tables`.
            recording: Name from `recordings`.
            columns: Only these, separated by commas; empty for all.
            where: `column=value`, or `column~text` for names that contain a text; empty for all rows.
            sort: Column to sort by, largest first; empty for the table's own order.
            limit: Rows to give, at most 200.
            offset: Rows to leave out before.
        """
        opened = self._recordings.get(recording)
        found = opened.report.table(name)
        rows = found.records()
        known = [column.name for column in found.schema.columns]
        if where:
            rows = _filtered(rows, where, known)
        if sort:
            _known(sort, known)
            rows.sort(key=lambda row: (row[sort] is not None, row[sort]), reverse=True)
        chosen = [_known(one.strip(), known) for one in columns.split(",")] if columns else known
        shown = [_said(column) for column in found.schema.columns if column.name in chosen]
        order = [one["name"] for one in shown]
        call = (
            f"table(name={name!r}, recording={opened.name!r}, columns={columns!r}, where={where!r}, sort={sort!r}, "
            f"limit={limit}, offset={{offset}})"
        )
        return page(shown, [[row[one] for one in order] for row in rows], limit, offset, call)

    def sql(self, query: str, recording: str = "", limit: int = 50, offset: int = 0) -> Any:
        """Rows of one SELECT in DuckDB's SQL over the canonical tables of `schema`, within a minute and 2 GB.

        Args:
            query: One SELECT. Times are ns since the recording's origin, sizes bytes.
            recording: Name from `recordings`.
            limit: Rows to give, at most 200.
            offset: Rows to leave out before.
        """
        opened = self._recordings.get(recording)
        if not query.strip():
            raise UserError("the query is empty", hint="give a SELECT; `schema` lists tables")
        found = answer(opened.trace, query, most=min(_QUERIED, offset + min(limit, MOST_ROWS) + 1))
        columns = [{"name": one["name"], "unit": one["unit"]} for one in found["columns"]]
        call = f"sql(query=..., recording={opened.name!r}, limit={limit}, offset={{offset}})"
        return page(columns, found["rows"], limit, offset, call)

    def schema(self, table: str = "") -> Any:
        """The canonical tables for `sql`; of one table its columns with type, unit and meaning.

        Args:
            table: Name of a table; empty for all.
        """
        known = {one.name: one for one in TABLES}
        if not table:
            return {"tables": {name: one.description for name, one in known.items()}, "next": "schema(table=NAME)"}
        if table not in known:
            raise UserError(said("no canonical table is called {table!r}", table=table), hint=choose(table, known))
        return {"table": table, "columns": [_said(column) for column in known[table].columns]}


def _said(column: Column) -> dict[str, str]:
    return {"name": column.name, "type": column.type, "unit": column.unit, "what": column.description}


def _known(name: str, names: list[str]) -> str:
    if name not in names:
        raise UserError(said("the table has no column called {name!r}", name=name), hint=choose(name, names))
    return name


def _filtered(rows: list[dict[str, Any]], where: str, known: list[str]) -> list[dict[str, Any]]:
    for sign in ("~", "="):
        column, found, value = where.partition(sign)
        if found and column.strip() in known:
            column, value = column.strip(), value.strip()
            if sign == "~":
                return [row for row in rows if value.lower() in str(row[column]).lower()]
            return [row for row in rows if str(row[column]).lower() == value.lower()]
    raise UserError(
        said("`where` is COLUMN=VALUE or COLUMN~TEXT, not {where!r}", where=where[:60]),
        hint=said("columns: {names}", names=", ".join(known)),
    )
