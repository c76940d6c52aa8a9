"""What the rules say about a whole trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepscope.rules.finding import Finding


@dataclass(frozen=True, slots=True)
class Unasked:
    """A rule that could not look, and what to record next time so that it can.

    Attributes:
        code: The rule.
        message: What the recording lacks.
        hint: What to record.
        failed: Whether the rule itself failed.
        ranks: Where.
    """

    code: str
    message: str
    hint: str
    failed: bool
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings of a trace.

    Attributes:
        findings: Ranked by what they cost, advice last.
        unasked: Rules that had nothing to look at.
        asked: Number of rules that could look at one rank at least.
        step_ns: Length of the mean step on the slowest rank, ns; None without steps.
    """

    findings: tuple[Finding, ...] = ()
    unasked: tuple[Unasked, ...] = ()
    asked: int = 0
    step_ns: int | None = None

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The findings worth showing unasked."""
        return tuple(finding for finding in self.findings if finding.shown)

    @property
    def healthy(self) -> bool:
        """Whether rules could look, and none found anything that costs time worth mentioning, or a failure."""
        wrong = any(finding.cost_ns is not None or finding.severity == "high" for finding in self.shown)
        return self.asked > 0 and not wrong

    def to_json(self) -> Mapping[str, Any]:
        """What the report's JSON says besides the findings."""
        return {
            "step_ns": self.step_ns,
            "healthy": self.healthy,
            "rules_asked": self.asked,
            "rules_not_asked": [
                {"code": one.code, "message": one.message, "hint": one.hint, "ranks": list(one.ranks)}
                for one in self.unasked
            ],
        }
