"""What stepscope says of a recording, as a reader of its page sees it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepscope.ingest import Options, open_trace
from stepscope.model.errors import StepscopeError
from stepscope.reports import build, terminal
from stepscope.reports.report import Report
from stepscope.rules.finding import Finding

_WIDTH = 110


@dataclass(frozen=True, slots=True)
class Answer:
    """A report reduced to what labels speak of.

    Attributes:
        findings: The shown findings but for those about the recording itself, the first one in front.
        advice: All that the shown findings say, in lower case.
        page: The terminal page with single blanks, in lower case.
        recorded_steps: Complete steps; 0 if none were found.
        typical_steps: Steps that prices are about; 0 if none were found.
        step_ns: Mean length of those; None without steps.
        failed: Analyses and rules that failed.
    """

    findings: tuple[Finding, ...]
    advice: str
    page: str
    recorded_steps: int
    typical_steps: int
    step_ns: int | None
    failed: tuple[str, ...]

    @property
    def family(self) -> str:
        """Family of the first finding; `none` without one."""
        return self.findings[0].family if self.findings else "none"

    @property
    def share(self) -> float | None:
        """What the first finding's remedy saves as a share of the typical step, or of the recording.

        Where that remedy cures other findings, too, it is what it saves in all.
        """
        if not self.findings:
            return None
        first = self.findings[0]
        cost = first.cost_ns if first.together_ns is None else first.together_ns
        if cost is None:
            return self.findings[0].recorded_share
        return cost / self.step_ns if cost is not None and self.step_ns else None


def answer(path: Path, store: Path) -> Answer:
    """Analyse a recording as `stepscope analyze` does; one that is refused has the refusal for its page."""
    try:
        return _analysed(path, store)
    except StepscopeError as refusal:
        return Answer((), "", str(refusal).lower(), 0, 0, None, ())
    except Exception as error:
        return Answer((), "", "", 0, 0, None, (f"reading ({type(error).__name__})",))


def _analysed(path: Path, store: Path) -> Answer:
    with open_trace(path, Options(store=store)) as trace:
        report = build.build_report(trace, build.ReportOptions(page=True))
    diagnosis = report.diagnosis
    assert diagnosis is not None
    rows = report.table("step_budget").records() if "step_budget" in report.tables else []
    # Memory snapshots have steps, but no device time that a budget could be made of.
    rows = rows or [{**row, "typical": not row["partial"]} for row in report.table("memory_steps").records()]
    steps = [row for row in rows if row["step"] is not None]
    return Answer(
        tuple(one for one in diagnosis.shown if one.family != "recording"),
        " ".join(_words(finding) for finding in diagnosis.shown).lower(),
        _page(report),
        _most(row for row in steps if not row["partial"]),
        _most(row for row in steps if row.get("typical", not row["partial"])),
        diagnosis.step_ns,
        (
            *(one.table for one in report.abstentions if one.failed),
            *(one.code for one in diagnosis.unasked if one.failed),
        ),
    )


def _most(rows: Iterable[Mapping[str, Any]]) -> int:
    """The number of different steps on the rank that has most."""
    by_rank: dict[int, set[int]] = {}
    for row in rows:
        by_rank.setdefault(row["rank"], set()).add(row["step"])
    return max(map(len, by_rank.values()), default=0)


def _words(finding: Finding) -> str:
    actions = [f"{one.text} {one.before} {one.after}" for one in finding.actions]
    return " ".join((finding.title, finding.text, *finding.symptoms, *actions))


def _page(report: Report) -> str:
    out = io.StringIO()
    terminal.write(report, out, width=_WIDTH)
    return " ".join(out.getvalue().lower().split())
