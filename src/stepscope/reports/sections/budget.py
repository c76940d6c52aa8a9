"""Where the time went: the budget of each step, or of selected ones where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepscope.language import listing, pattern, said, sentences
from stepscope.model.amounts import plural
from stepscope.reports.blocks import PARTS, Bar, Bars, Section
from stepscope.reports.contents import Contents
from stepscope.reports.sections.odd_steps import left_out, odd_steps

#: Up to this many bars are shown one by one.
_MOST_BARS: Final = 12


@dataclass(frozen=True, slots=True)
class _Step:
    rank: int
    device: int | None
    name: str
    total: int
    parts: tuple[int, ...]
    step: int | None = None
    #: Whether it is a request that others overlap, so that it may have no time of the device to itself.
    overlaps: bool = False


def budget(report: Contents, top: int) -> Section:
    """Bars for each step; for many steps the fastest, median and slowest; for many ranks one for each."""
    del top
    steps = _steps(report)
    if not any(step.total for step in steps):
        return Section("Where the time went", ())
    places = sorted({(step.rank, step.device is None, step.device or 0) for step in steps})
    if len(steps) <= _MOST_BARS and (len(places) == 1 or len(steps) > len(places)):
        drawn = [step for step in steps if step.total or not step.overlaps]  # those left out are in a line below
        bars = [Bar(_label(step, places), step.total, step.parts, False, step.rank, step.step) for step in drawn]
    elif len(places) == 1:
        bars = _chosen(steps, lambda step: step.name)
    else:
        means = [_mean([s for s in steps if (s.rank, s.device is None, s.device or 0) == place]) for place in places]
        if len(means) <= _MOST_BARS + 4:
            bars = [Bar(_place(step, places), step.total, step.parts, False, step.rank, step.step) for step in means]
        else:
            bars = _chosen(means, lambda step: _place(step, places))
    if len(steps) > 1:
        mean = _mean(steps)
        bars.append(Bar(said("mean"), mean.total, mean.parts, mean=True))
    aside = _aside(steps, places) if has_steps(report) else said("no steps are known")
    if atypical := left_out(report):
        aside = sentences((aside, said("without {steps} not typical", steps=plural(atypical, "step"))), " · ")
    return Section("Where the time went", (Bars(tuple(bars)), *odd_steps(report)), aside=aside)


def step_rows(report: Contents) -> list[dict[str, Any]]:
    """Rows of the budget for typical steps, or the closest to that."""
    if "step_budget" not in report.tables:
        return []
    rows = report.tables["step_budget"].records()
    steps = [row for row in rows if row["step"] is not None]
    return [row for row in steps if row.get("typical", True)] or steps or rows


def has_steps(report: Contents) -> bool:
    """Whether times are per step, rather than of the time in which devices were in use."""
    table = report.tables.get("step_budget")
    if not table:
        # Without a device there is no budget, but there may be steps.
        return all(row["part"] != "in use" for row in report.rows("coverage"))
    steps = zip(table.column("step"), table.column("role"), strict=True)
    return any(step is not None and role != "window" for step, role in steps)


def _steps(report: Contents) -> list[_Step]:
    steps = []
    for row in step_rows(report):
        number = None if row.get("role") == "window" else row["step"]
        name = said("in use") if number is None else said("step {number}", number=number)
        parts = tuple(row[f"{part}_ns"] for part, _ in PARTS)
        overlaps = row.get("source") == "requests"
        steps.append(_Step(row["rank"], row["device"], name, row["total_ns"], parts, row["step"], overlaps))
    return steps


def _chosen(steps: Sequence[_Step], label: Any) -> list[Bar]:
    # Of requests that overlap, one may have no time of the device to itself.
    ordered = sorted((step for step in steps if step.total), key=lambda step: step.total) or list(steps)
    chosen = (
        (pattern("fastest, {step}"), ordered[0]),
        (pattern("median, {step}"), ordered[(len(ordered) - 1) // 2]),
        (pattern("slowest, {step}"), ordered[-1]),
    )
    return [Bar(said(name, step=label(one)), one.total, one.parts, False, one.rank, one.step) for name, one in chosen]


def _mean(steps: Sequence[_Step]) -> _Step:
    """The mean, rounded down so that the parts still add up; the rounding remainder counts as idle."""
    if len(steps) == 1:
        return steps[0]
    total = sum(step.total for step in steps) // len(steps)
    busy = [sum(step.parts[i] for step in steps) // len(steps) for i in range(len(PARTS) - 1)]
    return _Step(steps[0].rank, steps[0].device, steps[0].name, total, (*busy, total - sum(busy)))


def _label(step: _Step, places: Sequence[tuple[int, bool, int]]) -> str:
    return step.name if len(places) == 1 else said("{place}, {step}", place=_place(step, places), step=step.name)


def _place(step: _Step, places: Sequence[tuple[int, bool, int]]) -> str:
    ranks = {rank for rank, _, _ in places}
    if len(ranks) == len(places):
        return said("rank {rank}", rank=step.rank)
    return (
        said("device {device}", device=step.device)
        if len(ranks) == 1
        else said("rank {rank} device {device}", rank=step.rank, device=step.device)
    )


def _aside(steps: Sequence[_Step], places: Sequence[tuple[int, bool, int]]) -> str:
    ranks = {rank for rank, _, _ in places}
    words = [plural(len({(step.rank, step.name) for step in steps}) // len(ranks), "step")]
    if len(ranks) > 1:
        words = [said("{steps} of {ranks} ranks", steps=words[0], ranks=len(ranks))]
    if len(places) > len(ranks):
        words.append(plural(len(places), "device"))
    return listing(words, " · ")
