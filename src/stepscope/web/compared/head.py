"""What the page is told of a comparison before it asks for tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from stepscope import __version__
from stepscope.comparison.result import Comparison
from stepscope.model.kernel_names.short import short_name
from stepscope.model.table import Table
from stepscope.reports.compared.outline import outline
from stepscope.web.compared.shown_steps import shown_steps
from stepscope.web.compared.splits import shown_splits
from stepscope.web.document import page_of

if TYPE_CHECKING:
    from stepscope.model.trace import Trace

#: Rows of each small table, and characters of a long name of a kernel.
_TOP: Final = 10
_LONG: Final = 40


def shown_table(table: Table, most: int | None = None) -> dict[str, Any]:
    """A table as JSON values, at most `most` rows of it; of long names of kernels also what reports show (`short`).

    `count` is how many rows it has where not all are there.
    """
    found = (table if most is None else table.head(most)).to_json()
    if most is not None and len(table) > most:
        found["count"] = len(table)
    if "kernel" in table.schema.names:
        found["short"] = {one: short_name(one) for one in set(table.column("kernel")) if one and len(one) > _LONG}
    return found


def head(comparison: Comparison, base: Trace, new: Trace) -> dict[str, Any]:
    """The comparison without rows of tables.

    Beside what `docs/compare.md` describes, it has `version`, `page` as that of a report, of each side its `steps` and
    which one is `typical` (`shown_steps`), the views of *Differences* (`splits`), and of each table its description and
    number of rows.
    """
    sides = {"base": (comparison.base, base), "new": (comparison.new, new)}
    return {
        **{key: value for key, value in comparison.to_dict().items() if key != "tables"},
        "version": __version__,
        "page": page_of(outline(comparison, _TOP)),
        "sides": {name: {**asdict(facts), **shown_steps(trace, facts)} for name, (facts, trace) in sides.items()},
        "splits": shown_splits(comparison),
        "tables": {
            name: {"description": table.schema.description, "computed": True, "missing": [], "count": len(table)}
            for name, table in comparison.tables.items()
        },
    }
