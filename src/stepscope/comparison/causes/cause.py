"""A difference that is no noise, and what it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepscope.comparison.steps.words import part_words
from stepscope.language import said
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
        per_step: Whether the times are per step rather than those of whole recordings.
    """

    part: str
    what: str
    base_ns: int
    new_ns: int
    low_ns: int
    high_ns: int
    sure: bool
    within: bool = False
    per_step: bool = True

    @property
    def diff_ns(self) -> int:
        """New minus base."""
        return self.new_ns - self.base_ns

    def __str__(self) -> str:
        return str(self.said)

    @property
    def said(self) -> str:
        """The part, by how much it differs and what in it, which other languages can be told."""
        sign = "+" if self.diff_ns > 0 else "-"
        apart = f"{sign}{duration(abs(self.diff_ns))}"
        apart = said("{apart} per step", apart=apart) if self.per_step else apart
        growth = self.diff_ns / self.base_ns if self.base_ns else 0
        if 0 < abs(growth) < _FACTOR:
            apart = said("{growth} ({apart})", growth=f"{sign}{percent(abs(growth))}", apart=apart)
        part = part_words(self.part)
        if self.within:
            part = said("in {part}", part=part)
        text = said("{part} surely {apart}" if self.sure else "{part} {apart}", part=part, apart=apart)
        return said("{text}: {what}", text=text, what=self.what) if self.what else text

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "part": self.part, "what": self.what, "base_ns": self.base_ns, "new_ns": self.new_ns,
            "diff_ns": self.diff_ns, "low_ns": self.low_ns, "high_ns": self.high_ns, "sure": self.sure,
            "within": self.within,
        }  # fmt: skip


#: Growth beyond which it is said in time alone.
_FACTOR = 5.0
