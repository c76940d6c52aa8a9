"""What a trial found, as data and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stepscope.language import said
from stepscope.trying.numbers import NumbersVerdict
from stepscope.trying.recorded import NamedFinding
from stepscope.trying.verdicts import MeasuredSaving
from stepscope.trying.writing import ToWrite

SCHEMA: Final = "stepscope.try/1"


@dataclass(frozen=True, slots=True)
class TriedRemedy:
    """A remedy that was tried, or asked for.

    Attributes:
        name: Its name.
        title: What it does.
        rule: Code of the finding that names it; empty if none does.
        predicted_ns: What the finding says that it saves per step; None without a price.
        measured: What it was measured to.
        write: What to write into the program.
        earlier: MeasuredSaving shares of what was predicted, of earlier trials that were kept.
    """

    name: str
    title: str
    rule: str
    predicted_ns: int | None
    measured: MeasuredSaving
    write: ToWrite
    earlier: tuple[float, ...] = ()


@dataclass(slots=True)
class Tried:
    """What a trial found.

    Attributes:
        command: Program and arguments.
        folder: Where its runs' output lies.
        base_ns: Mean step of all unchanged runs; None if none could be timed.
        base_runs: How many there were.
        base_steps: Timed steps of each.
        base_spread: Standard deviation of the runs' means over their mean.
        source: What steps were found by.
        ranks: Number of ranks.
        device: What the model runs on.
        findings: Findings of the recorded run.
        remedies: Remedies, in the order in which they were tried.
        together: Names of the combination that held; empty if no remedy helps.
        combined: What it was measured to.
        write: What to write into the program for it.
        notes: What else is to be said, a sentence each without a full stop.
        finished: Whether all was done that was to be done.
        load: Load average of the machine over the last minute, at the start and at the end; empty where it has none.
        cores: Processors that the program may use.
    """

    command: list[str]
    folder: Path
    base_ns: int | None = None
    base_runs: int = 0
    base_steps: int = 0
    base_spread: float | None = None
    source: str = ""
    ranks: int = 1
    device: str = ""
    findings: list[NamedFinding] = field(default_factory=list)
    remedies: list[TriedRemedy] = field(default_factory=list)
    together: list[str] = field(default_factory=list)
    combined: MeasuredSaving | None = None
    write: list[ToWrite] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    finished: bool = True
    load: tuple[float, ...] = ()
    cores: int = 0

    def to_json(self) -> dict[str, Any]:
        """As JSON values; times are ns per step."""
        return {
            "schema": SCHEMA,
            "command": self.command,
            "finished": self.finished,
            "base": {
                "step_ns": self.base_ns,
                "runs": self.base_runs,
                "steps_per_run": self.base_steps,
                "spread": self.base_spread,
                "steps": self.source,
                "ranks": self.ranks,
                "device": self.device,
                "cores": self.cores,
                "load": list(self.load),
                "findings": [
                    {"rule": one.code, "title": one.title, "share": one.share} for one in self.findings if one.shown
                ],
            },
            "remedies": [
                {
                    "name": one.name, "rule": one.rule or None, "title": one.title, "predicted_ns": one.predicted_ns,
                    **_measured(one.measured), "write": list(one.write.lines), "earlier": list(one.earlier),
                }
                for one in self.remedies
            ],
            "together": {
                "names": self.together,
                **(_measured(self.combined) if self.combined is not None else _nothing()),
                "write": [line for one in self.write for line in one.lines],
            },
            "notes": self.notes,
            "folder": str(self.folder),
        }  # fmt: skip


def _measured(one: MeasuredSaving) -> Mapping[str, Any]:
    return {
        "measured_ns": one.saved_ns, "low_ns": one.low_ns, "high_ns": one.high_ns, "base_ns": one.base_ns,
        "step_ns": one.step_ns, "runs": one.runs, "verdict": one.verdict, "why": one.why,
        "numbers": _numbers(one.numbers),
    }  # fmt: skip


def _nothing() -> Mapping[str, Any]:
    return {
        "measured_ns": None, "low_ns": None, "high_ns": None, "base_ns": None, "step_ns": None, "runs": 0,
        "verdict": "no gain", "why": said("no remedy was shown to help"), "numbers": None,
    }  # fmt: skip


def _numbers(one: NumbersVerdict | None) -> Mapping[str, Any] | None:
    if one is None:
        return None
    return {
        "same": one.same, "loss": _finite(one.loss), "norm": _finite(one.norm), "output": _finite(one.output),
        "loss_tolerance": one.loss_tolerance, "norm_tolerance": one.norm_tolerance, "noise": _finite(one.noise),
        "compared": one.compared,
    }  # fmt: skip


def _finite(value: float | None) -> float | str | None:
    """JSON has no infinity."""
    return "infinite" if value == float("inf") else value
