"""Descriptions of tables and columns: found in the schemas themselves, since many are made of parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from translation.rooms import SOURCE

#: What makes columns and tables, and where their description stands among the arguments.
_MAKERS: Final = {
    **dict.fromkeys(("ns", "count", "size", "ident", "text", "fraction", "number", "flag", "TableSchema"), 1),
    "Column": 2,
}
_HOME: Final = "stepscope.model.schema"


def descriptions() -> list[str]:
    """Each description once: of tables of reports and their columns, of those of SQL, and constants of all others."""
    return [text for text in dict.fromkeys((*_of_schemas(), *_of_code())) if text]


def _of_schemas() -> Iterator[str]:
    from stepscope.analyses.registry import analyses
    from stepscope.model.tables import TABLES

    for schema in (*(one.schema for one in analyses().values()), *TABLES):
        yield schema.description
        yield from (column.description for column in schema.columns)


def _of_code() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        if _HOME not in code:
            continue
        tree = ast.parse(code)
        ours = {
            one.asname or one.name: one.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == _HOME
            for one in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ours:
                yield from _described(node, _MAKERS.get(ours[node.func.id]))


def _described(call: ast.Call, position: int | None) -> Iterator[str]:
    if position is None:
        return
    given = call.args[position : position + 1] + [one.value for one in call.keywords if one.arg == "description"]
    for one in given:
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
