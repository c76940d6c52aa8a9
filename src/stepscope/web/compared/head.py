"""What the page is told of a comparison before it asks for tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from stepscope import __version__
from stepscope.comparison.result import Comparison
from stepscope.reports.compared.outline import outline
from stepscope.web.compared.shown_steps import shown_steps
from stepscope.web.document import page_of

if TYPE_CHECKING:
    from stepscope.model.trace import Trace

#: Rows of each small table.
_TOP: Final = 10


def head(comparison: Comparison, base: Trace, new: Trace) -> dict[str, Any]:
    """The comparison without rows of tables.

    Beside what `docs/compare.md` describes, it has `version`, `page` as that of a report, of each side its `steps` and
    which one is `typical` (`shown_steps`), and of each table its description and number of rows.
    """
    sides = {"base": (comparison.base, base), "new": (comparison.new, new)}
    return {
        **{key: value for key, value in comparison.to_dict().items() if key != "tables"},
        "version": __version__,
        "page": page_of(outline(comparison, _TOP)),
        "sides": {name: {**asdict(facts), **shown_steps(trace, facts)} for name, (facts, trace) in sides.items()},
        "tables": {
            name: {"description": table.schema.description, "computed": True, "missing": [], "count": len(table)}
            for name, table in comparison.tables.items()
        },
    }
