"""What the page is told of a report before it asks for tables: everything but their rows."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Final

from stepscope import __version__
from stepscope.guide.walk import as_json, walk
from stepscope.language import told
from stepscope.model.kernel_names.short import short_name
from stepscope.reports import json
from stepscope.reports.blocks import Outline
from stepscope.reports.contents import Contents
from stepscope.reports.outline import outline
from stepscope.rules.registry import all_rules

#: Tables whose column `name` has names of kernels, which may fill half a screen, and characters of a long one.
_OF_KERNELS: Final = frozenset({"kernels", "kernels_by_operator", "occupancy", "occupancy_grids", "queue_times"})
_LONG: Final = 40
#: Rows of each small table of the overview.
_TOP: Final = 10


def shown_table(report: Contents, name: str, most: int | None = None) -> dict[str, Any]:
    """A table as in the JSON report; of long names of kernels beside it what reports show (`short`).

    Args:
        report: The report.
        name: Name of the table.
        most: Rows to give at most; `count` is then how many it has.
    """
    table = report.table(name)
    count = len(table)
    if most is not None and count > most:
        table = table.head(most)
    found = json.table_values(report, name, table)
    if len(table) < count:
        found["count"] = count
    if name in _OF_KERNELS:
        found["short"] = {one: short_name(one) for one in set(table.column("name")) if len(one) > _LONG}
    return found


def head(report: Contents) -> dict[str, Any]:
    """The report without rows of tables.

    Beside what `docs/report.md` describes, it has `version`, `guide` (the way to the costliest finding), `page` (title,
    facts, figures and sections, whose blocks name their `kind`, as every output shows them), `thresholds` (by rule that
    found something, what it decided by), and of each table its description, number of rows, whether it was computed,
    and what was missing.
    """
    shown = outline(replace(report, all_findings=True), _TOP)
    return {
        **json.head_values(report),
        "version": __version__,
        "page": page_of(shown),
        "thresholds": {one.code: thresholds_of(one.code) for one in report.findings},
        "guide": as_json(walk(report.rows("step_budget"), report.rows("idle_causes"), report.findings)),
        "tables": {
            name: {key: value for key, value in json.about_table(report, name, table).items() if key != "columns"}
            | {"count": len(table)}
            for name, table in report.tables.items()
        },
        **json.conclusions(report),
    }


def thresholds_of(code: str) -> dict[str, dict[str, str]]:
    """Units of the thresholds of a rule and where they come from, by their names."""
    known = all_rules().get(code)
    return {one.name: {"unit": one.unit, "why": told(one.why)} for one in known.rule.thresholds} if known else {}


def page_of(shown: Outline) -> dict[str, Any]:
    """An outline as JSON values, in the language that is spoken; a section's `name` is its title in English."""
    names = [str(section.title) for section in shown.sections]
    shown = shown.told()
    return {
        "title": shown.title,
        "facts": list(shown.facts),
        "figures": [asdict(figure) for figure in shown.figures],
        "sections": [
            {
                "name": name,
                "title": section.title,
                "aside": section.aside,
                "blocks": [{"kind": type(block).__name__.lower(), **asdict(block)} for block in section.blocks],
            }
            for name, section in zip(names, shown.sections, strict=True)
        ],
    }
