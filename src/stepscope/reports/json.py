"""The report as JSON, from which every other tool can start; `docs/report.md` describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from stepscope.model.place import Place
from stepscope.model.table import Table
from stepscope.reports.contents import SCHEMA, Contents
from stepscope.reports.health import Abstention


def values(report: Contents) -> dict[str, Any]:
    """The report as JSON values."""
    document = head_values(report)
    document["tables"] = {name: table_values(report, name, table) for name, table in report.tables.items()}
    document |= conclusions(report)
    return document


def lines(report: Contents) -> Iterator[str]:
    """The report as the text of a JSON document, a row per line; ASCII only, so that no terminal can be fooled."""
    head = head_values(report)
    yield "{\n"
    for key, value in head.items():
        yield f'"{key}": {_dumps(value)},\n'
    yield '"tables": {'
    for number, (name, table) in enumerate(report.tables.items()):
        about = about_table(report, name, table)
        rows = table.json_rows()
        yield (",\n" if number else "\n") + f"{_dumps(name)}: {_dumps(about)[:-1]}, " + '"rows": ['
        yield ",".join("\n" + _dumps(row) for row in rows) + "]}"
    for key, value in conclusions(report).items():
        yield ("\n}" if key == "findings" else "") + f",\n{_dumps(key)}: {_dumps(value)}"
    yield "\n}\n"


def head_values(report: Contents) -> dict[str, Any]:
    """What stands before the tables."""
    return {
        "schema": SCHEMA,
        "source": [{**recording.to_json(), "rank": rank} for rank, recording in report.sources.items()],
        "recordings": [_place(place) for place in report.places],
        "selection": asdict(report.selection),
        "health": [asdict(line) for line in report.health],
        "ranks": [asdict(line) for line in report.ranks],
        "programs": [{"rank": rank, "says": str(one), **one.to_json()} for rank, one in report.programs.items()],
    }


def _place(place: Place) -> dict[str, Any]:
    source, reader = place.recording.source, place.recording.reader
    return {
        "source": source, "reader": reader, "run": place.run, "rank": place.rank, "span": place.span,
        "analysed": place.analysed,
    }  # fmt: skip


def conclusions(report: Contents) -> dict[str, Any]:
    """What stands behind the tables: findings and the diagnosis."""
    return {
        "findings": [finding.to_json() for finding in report.findings],
        "diagnosis": report.diagnosis.to_json() if report.diagnosis else None,
    }


def table_values(report: Contents, name: str, table: Table) -> dict[str, Any]:
    """One table with its rows."""
    return {**about_table(report, name, table), "rows": table.json_rows()}


def about_table(report: Contents, name: str, table: Table) -> dict[str, Any]:
    """One table without its rows."""
    return {
        "description": table.schema.description,
        "computed": report.computed(name),
        "missing": [_missing(one) for one in report.abstentions if one.table == name],
        "columns": table.schema.to_json(),
    }


def _missing(one: Abstention) -> dict[str, Any]:
    return {
        "message": one.message, "hint": one.hint, "needs": one.needs, "applies": one.applies, "failed": one.failed,
        "ranks": list(one.ranks),
    }  # fmt: skip


_dumps: Final = json.JSONEncoder(allow_nan=False, default=str).encode
