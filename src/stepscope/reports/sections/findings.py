"""What is slow, why, what to change and what that is worth: what most readers came for."""

from __future__ import annotations

from typing import Final

from stepscope.model.amounts import duration, percent
from stepscope.reports.outline import Item, Line, Remedy, Section
from stepscope.reports.report import Report
from stepscope.reports.sections.snapshot import is_snapshot, verdict
from stepscope.reports.text import plural, visible
from stepscope.rules.finding import Finding

_TONES: Final = {"high": "error", "medium": "warning", "low": "info", "advice": "plain"}
#: Least number of findings shown, whatever the number of rows asked for.
_FEW: Final = 8


def findings(report: Report, top: int) -> Section:
    """The findings worth showing; a job without any is told so."""
    diagnosis = report.diagnosis
    if diagnosis is None or not (diagnosis.asked or diagnosis.findings):
        return Section("Findings", ())
    shown = diagnosis.shown if not report.all_findings else diagnosis.findings
    step = diagnosis.step_ns
    kept = shown[: max(top, _FEW)]
    looks = is_snapshot(report)
    blocks: list[Item | Line] = [_item(number, one, looks) for number, one in enumerate(kept, 1)]
    if looks:
        known = verdict(report)
        blocks[:0] = [] if known is None else [known]
    elif diagnosis.healthy:
        what = f"no finding costs 1 % of the step or more ({plural(diagnosis.asked, 'rule')} looked)"
        blocks.insert(0, Line(what, tone="good"))
    if len(shown) > len(kept):
        blocks.append(Line(f"{len(shown) - len(kept):,} more findings are in the JSON report"))
    hidden = len(diagnosis.findings) - len(shown)
    if hidden:
        blocks.append(Line(f"{plural(hidden, 'finding')} below 1 % of the step not shown", "--all shows them"))
    return Section("Findings", tuple(blocks), aside="" if looks else _aside(kept, step))


def _aside(kept: tuple[Finding, ...], step: int | None) -> str:
    priced = [finding for finding in kept if finding.cost_ns]
    if not priced or not step:
        return ""
    return f"prices are what a step of {duration(step)} would save"


def _item(number: int, finding: Finding, looks: bool) -> Item:
    worth = "failed" if finding.severity == "high" else "advice"
    if finding.cost_ns is not None:
        worth = duration(finding.cost_ns)
        if finding.gain_ceiling is not None:
            share = finding.gain_ceiling / (1 + finding.gain_ceiling)
            # A history need not consist of steps: the share is what counts.
            worth = f"{percent(share)} of the time" if looks else f"{worth} per step, {percent(share)}"
    where = finding.evidence.ranks
    if len(where) > 1:
        worth += f", {plural(len(where), 'rank')}"
    return Item(
        number=number,
        code=finding.code,
        title=visible(finding.title),
        worth=worth,
        text=visible(finding.summary),
        remedies=tuple(Remedy(visible(a.text), _lines(a.before), _lines(a.after), a.page) for a in finding.actions),
        inspect=visible(finding.inspect),
        also=tuple(visible(symptom) for symptom in finding.symptoms),
        page=f"docs/rules/{finding.code}.md",
        tone=_TONES[finding.severity],
    )


def _lines(code: str) -> tuple[str, ...]:
    return tuple(visible(line) for line in code.splitlines())
