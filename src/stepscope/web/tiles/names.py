"""Names as the timeline shows them: short, and with nothing in them that does not show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stepscope.model.categories import CATEGORIES
from stepscope.model.events.columns import names_by_id
from stepscope.model.kernel_names import classify
from stepscope.model.trace import Trace
from stepscope.reports.text import cut, visible

_WIDTH: Final = 120
#: Names that are kept made short; a page shows some hundreds at a time.
_KEPT: Final = 50_000


class ShortNames:
    """The names of one rank's events by `name_id`, made short when they are asked for."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._short: dict[tuple[int, bool], str] = {}

    def of(self, ids: Iterable[tuple[int, int]]) -> list[str]:
        """The short names for pairs of `name_id` and kind, a position in `KINDS`; of kernels what their names say."""
        names = self._trace.once(names_by_id)
        found = []
        for name_id, kind in ids:
            computes = kind >= len(CATEGORIES)
            if (name_id, computes) not in self._short:
                if len(self._short) >= _KEPT:
                    self._short.clear()
                name = names.get(name_id, "")
                self._short[name_id, computes] = visible(classify(name).short if computes else cut(name, _WIDTH))
            found.append(self._short[name_id, computes])
        return found
