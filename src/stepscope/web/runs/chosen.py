"""What of a run is shown, as the address says it: `KEY`, `KEY.span2`, `KEY.rank3`, `KEY.span2.rank3`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FORM: Final = re.compile(r"(?P<key>[0-9a-f]{16})(?:\.span(?P<span>\d{1,6}))?(?:\.rank(?P<rank>\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run, and one span and rank of it; None for the last span that most ranks have, and for all ranks."""

    key: str
    span: int | None = None
    rank: int | None = None

    @classmethod
    def of(cls, text: str) -> Chosen | None:
        """The inverse of `str`; None if it is none."""
        found = _FORM.fullmatch(text)
        if found is None:
            return None
        span, rank = (None if found[name] is None else int(found[name]) for name in ("span", "rank"))
        return cls(found["key"], span, rank)

    def __str__(self) -> str:
        span = "" if self.span is None else f".span{self.span}"
        rank = "" if self.rank is None else f".rank{self.rank}"
        return f"{self.key}{span}{rank}"
