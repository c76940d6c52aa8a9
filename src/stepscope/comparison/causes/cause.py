"""A difference that is no noise, and what it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepscope.comparison.steps.words import part_words
from stepscope.model.amounts import duration, percent


@dataclass(frozen=True, slots=True)
class Cause:
    """A part of the step that differs.

    Attributes:
        part: As in `step_parts`.
        what: What in it, in words; empty if nothing stands out.
        base_ns: Time per step of the base.
        new_ns: The same of the new side.
        low_ns: Lower end of the interval of the difference.
        high_ns: Upper end.
        sure: Whether that excludes 0, all parts of the step in mind.
        within: Whether the times are those of some activities within the part rather than of all of it.
        per: What the times are per, in words; empty where they are those of whole recordings.
    """

    part: str
    what: str
    base_ns: int
    new_ns: int
    low_ns: int
    high_ns: int
    sure: bool
    within: bool = False
    per: str = "per step"

    @property
    def diff_ns(self) -> int:
        """New minus base."""
        return self.new_ns - self.base_ns

    def __str__(self) -> str:
        sign = "+" if self.diff_ns > 0 else "-"
        apart = f"{sign}{duration(abs(self.diff_ns))}"
        apart = f"{apart} {self.per}".rstrip()
        growth = self.diff_ns / self.base_ns if self.base_ns else 0
        if 0 < abs(growth) < _FACTOR:
            apart = f"{sign}{percent(abs(growth))} ({apart})"
        return f"{'in ' if self.within else ''}{part_words(self.part)} {'surely ' if self.sure else ''}{apart}" + (
            f": {self.what}" if self.what else ""
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "part": self.part, "what": self.what, "base_ns": self.base_ns, "new_ns": self.new_ns,
            "diff_ns": self.diff_ns, "low_ns": self.low_ns, "high_ns": self.high_ns, "sure": self.sure,
            "within": self.within,
        }  # fmt: skip


#: Growth beyond which it is said in time alone.
_FACTOR = 5.0
