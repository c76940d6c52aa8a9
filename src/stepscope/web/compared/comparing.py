"""What one server shows of a comparison: two open traces, and what was found of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stepscope.comparison.build import CompareOptions
from stepscope.comparison.result import Comparison
from stepscope.jobs.compare import compare_inputs
from stepscope.web.making import Making, Progress
from stepscope.web.viewing import Viewing

if TYPE_CHECKING:
    from stepscope.model.trace import Trace

#: Names of the sides, and of their pages in addresses: `base/api/timeline`.
SIDES: Final = ("base", "new")


class Comparing:
    """Two open traces and their comparison, which is made once in a thread of its own.

    Attributes:
        base: One side, with its own report, which is made when it is asked for.
        new: The other.
    """

    def __init__(self, base: Trace, new: Trace, options: CompareOptions | None = None) -> None:
        self.base, self.new = Viewing(base), Viewing(new)
        wanted = options or CompareOptions()
        self._making: Making[Comparison] = Making(
            "the comparison", lambda note: compare_inputs(base, new, replace(wanted, progress=note))
        )

    @property
    def sides(self) -> dict[str, Viewing]:
        """Both sides by name."""
        return dict(zip(SIDES, (self.base, self.new), strict=True))

    def start(self) -> None:
        """Begin to compare, unless that has begun."""
        self._making.start()

    def comparison(self) -> Comparison | Progress:
        """The comparison, or how far it is.

        Raises:
            StepscopeError: It can't be made.
        """
        return self._making.asked()

    def whole(self) -> Comparison:
        """The comparison, once it is there.

        Raises:
            StepscopeError: It can't be made.
        """
        return self._making.whole()
