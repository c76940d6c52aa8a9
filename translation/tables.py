"""Descriptions of tables and columns: found in the schemas themselves, since many are made of parts."""

from __future__ import annotations

from collections.abc import Iterator


def descriptions() -> list[str]:
    """Each description of a table of reports, of SQL and of its columns once, in the order of the tables."""
    return [text for text in dict.fromkeys(_all()) if text]


def _all() -> Iterator[str]:
    from stepscope.analyses.registry import analyses
    from stepscope.model.tables import TABLES

    for schema in (*(one.schema for one in analyses().values()), *TABLES):
        yield schema.description
        yield from (column.description for column in schema.columns)
