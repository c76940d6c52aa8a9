"""How values show themselves in a notebook: as whoever presents them says, which values know nothing of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

#: The HTML of a value, or None where there is none.
Present = Callable[[object], str | None]
_PRESENT: Final[list[Present]] = []


def present_with(present: Present) -> None:
    """Have values that are `Shown` show themselves as `present` says."""
    _PRESENT[:] = [present]


class Shown:
    """Something that shows itself in a notebook; by its `repr` as long as nobody presents it otherwise."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return _PRESENT[0](self) if _PRESENT else None
