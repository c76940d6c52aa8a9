"""The findings of a whole trace, and what they explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from stepscope.rules.finding import Finding
from stepscope.signals.recording.accounting import Account

#: Findings that recorded times are not the job's: profiler overhead, and too little recorded.
_OF_THE_RECORDING: Final = ("REC002", "REC013")
#: A step is unexplained if its lost share exceeds what the findings explain by this much.
_LARGE: Final = 0.25
#: What takes so much of the recording beside the steps is to be seen before they are praised.
_BESIDE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Unasked:
    """A rule that lacked its input, and what to record next time.

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
        findings: Ranked by what they cost, then advice; those not shown unasked last.
        unasked: Rules that lacked their input.
        asked: Number of rules that had their input on one rank at least.
        step_ns: Mean length of the typical steps on the slowest rank, ns; None without steps.
        accounts: Where the typical step of each rank goes, by rank; none for ranks without device activity.
        ranks: Number of ranks that were analysed.
    """

    findings: tuple[Finding, ...] = ()
    unasked: tuple[Unasked, ...] = ()
    asked: int = 0
    step_ns: int | None = None
    accounts: Mapping[int, Account] = field(default_factory=dict)
    ranks: int = 0

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The findings worth showing unasked."""
        return tuple(finding for finding in self.findings if finding.shown)

    @property
    def healthy(self) -> bool:
        """Whether every rank's typical step could be judged and goes to useful device work.

        A finding with a price says otherwise, and so does one about memory that is sure, or about much of what was
        recorded beside the steps.
        """
        judged = self.ranks > 0 and len(self.accounts) == self.ranks
        failed = any(one.failed for one in self.unasked)
        beside = any((one.recorded_share or 0.0) >= _BESIDE for one in self.shown)
        clean = all(one.clean for one in self.accounts.values())
        return judged and not failed and not self._problems and not beside and clean

    @property
    def _problems(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.shown if one.cost_ns is not None or one.severity == "high" or _in_steps(one))

    @property
    def explained(self) -> float:
        """Share of the step that the shown findings save together or are about; 0 where neither is known."""
        taken = sum(one.taken_ns or 0 for one in self.shown if _in_steps(one))
        return min(sum(one.share or 0.0 for one in self._problems) + taken / (self.step_ns or 1), 1.0)

    @property
    def unexplained(self) -> Account | None:
        """The typical step with the largest lost share that findings with a price do not explain; else None.

        Also None where profiler overhead or a too small recording explains it.
        """
        if any(one.code in _OF_THE_RECORDING for one in self.shown):
            return None
        worst = max(self.accounts.values(), key=lambda one: one.lost, default=None)
        if worst is None or worst.computing or (self._problems and worst.lost - self.explained < _LARGE):
            return None
        return worst

    def to_json(self) -> Mapping[str, Any]:
        """The diagnosis as JSON values, without its findings."""
        return {
            "step_ns": self.step_ns,
            "healthy": self.healthy,
            "accounts": {str(rank): asdict(one) for rank, one in self.accounts.items()},
            "rules_asked": self.asked,
            "rules_not_asked": [
                {"code": one.code, "message": one.message, "hint": one.hint, "ranks": list(one.ranks)}
                for one in self.unasked
            ],
        }


def _in_steps(finding: Finding) -> bool:
    """Whether a finding without a price states what the device waits for in steps."""
    return finding.waiting and finding.cost_ns is None and finding.recorded_share is None
