"""All tables with their columns, for `stepscope schema` and `docs/schema.md`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from stepscope.analyses.registry import analyses
from stepscope.cluster.tables import JOB_TABLES
from stepscope.comparison.catalogue import COMPARISON_TABLES
from stepscope.jobs.tables import JOB_PAIR_TABLES
from stepscope.model.schema import Column, TableSchema
from stepscope.model.tables import TABLES

Groups = Mapping[str, tuple[TableSchema, ...]]

_TITLES: Final = {
    "canonical": (
        "Canonical tables",
        "Every recording is read into these; `stepscope query` and `Trace.sql` query them. Times are integer ns "
        "since the trace's origin. `(rank, id)` names an event.",
    ),
    "report": (
        "Tables of reports",
        "What `stepscope analyze` computes, for each rank. `stepscope analyze --table NAME` shows one of them.",
    ),
    "comparison": (
        "Tables of comparisons",
        "What `stepscope compare` computes of two recordings: means per step of either side. [compare.md](compare.md) "
        "says how.",
    ),
}
_HEAD: Final = """\
# Tables

This page is made from the code by `stepscope schema --markdown`; a test keeps it true. Columns may be null only where
it says so.
"""


def groups() -> dict[str, tuple[TableSchema, ...]]:
    """The canonical tables, those of reports and those of comparisons, in order."""
    reports = (*(one.schema for one in analyses().values()), *(table.schema for table in JOB_TABLES.values()))
    return {"canonical": TABLES, "report": reports, "comparison": (*COMPARISON_TABLES, *JOB_PAIR_TABLES)}


def to_json(tables: Groups) -> str:
    """As a JSON object by group and table."""
    return json.dumps(
        {
            group: {
                table.name: {"description": table.description, "columns": [_column(column) for column in table.columns]}
                for table in listed
            }
            for group, listed in tables.items()
        },
        indent=1,
    )


def to_markdown(tables: Groups) -> str:
    """As a page with a table per table."""
    lines = [_HEAD]
    for group, listed in tables.items():
        if listed:
            title, about = _TITLES[group]
            lines.append(f"## {title}\n\n{about}\n")
        for table in listed:
            lines.append(f"### {table.name}\n\n{table.description}\n")
            lines.append("| column | type | unit | description |\n|---|---|---|---|")
            for column in table.columns:
                description = column.description.replace("|", "\\|")
                lines.append(f"| `{column.name}` | {_type(column)} | {column.unit} | {description} |")
            lines.append("")
    return "\n".join(lines)


def to_text(tables: Groups) -> str:
    """For a terminal: a line per column."""
    lines: list[str] = []
    for group, listed in tables.items():
        if listed:
            lines += [_TITLES[group][0].upper(), ""]
        for table in listed:
            lines += [f"{table.name}: {table.description}"]
            width = max(len(column.name) for column in table.columns)
            for column in table.columns:
                unit = f" [{column.unit}]" if column.unit else ""
                lines.append(f"  {column.name:<{width}}  {_type(column)}{unit}: {column.description}")
            lines.append("")
    return "\n".join(lines)


def _type(column: Column) -> str:
    return f"{column.type}, null" if column.nullable else column.type


def _column(column: Column) -> dict[str, object]:
    return {
        "name": column.name, "type": column.type, "unit": column.unit, "nullable": column.nullable,
        "description": column.description,
    }  # fmt: skip
