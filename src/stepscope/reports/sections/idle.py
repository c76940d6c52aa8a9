"""Why the devices were idle: causes by the time they cost a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.language import said
from stepscope.language.part_words import in_words
from stepscope.reports.blocks import Grid, Heading, Section
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import has_steps, step_rows
from stepscope.reports.units import duration, percent

#: What is less than this share of a step is shown as 0.0 %.
_LEAST: Final = 0.0005
_DESCRIPTIONS: Final = {
    "data_wait": said("the host waited for the data loader"),
    "synchronisation": said("the host waited for the device, then had to launch new work"),
    "allocation": said("the host got memory from the driver"),
    "host_dispatch": said("the host had not launched the next work yet"),
    "launch_latency": said("launched, but not started yet"),
    "dependency": said("queued behind an event or another stream"),
    "profiler_overhead": said("the profiler's own work"),
    "unknown": said("not known from the recording"),
}
_HEADINGS: Final = (
    Heading("", number=False, rank=5, bar=True),
    Heading(said("gaps"), rank=2),
    Heading(said("meaning"), number=False, rank=6),
)


def idle(report: Contents, top: int) -> Section:
    """A row per cause with a row per detail below it."""
    steps = step_rows(report)
    total = sum(row["total_ns"] for row in steps)
    idle_ns = sum(row["idle_ns"] for row in steps)
    found = causes(report)
    if not found or not total:
        return Section("Why idle", ())
    rows: list[tuple[str | float, ...]] = []
    for cause, details in sorted(_worth_showing(found, total).items(), key=lambda item: -_sum(item[1])):
        rows.append(
            _row(in_words(cause), _sum(details), _gaps(details), total, len(steps), _DESCRIPTIONS.get(cause, ""))
        )
        if len(details) > 1 or (cause == "unknown" and None not in details):
            for detail, (ns, gaps) in sorted(details.items(), key=lambda item: -item[1][0]):
                rows.append(_row(said("  {row}", row=in_words(detail or "other")), ns, gaps, total, len(steps), ""))
    shown = tuple(rows[: max(top, 10) * 2])
    per, of = (said(" per step"), said("of the step")) if has_steps(report) else ("", said("of the time"))
    each = said("per step") if has_steps(report) else said("time")
    headings = (Heading(said("cause"), number=False), Heading(each), Heading(of), *_HEADINGS)
    aside = said(
        "{idle} of {total}{per} ({share})",
        idle=duration(idle_ns / len(steps)), total=duration(total / len(steps)), per=per,
        share=percent(idle_ns / total),
    )  # fmt: skip
    return Section("Why idle", (Grid(headings, shown, hidden=len(rows) - len(shown), table="idle_causes"),), aside)


def _worth_showing(
    found: dict[str, dict[str | None, tuple[int, int]]], total: int
) -> dict[str, dict[str | None, tuple[int, int]]]:
    """Rows of more than 0.0 %, or all if there are none."""
    kept = {
        cause: {detail: value for detail, value in details.items() if value[0] >= _LEAST * total} or details
        for cause, details in found.items()
        if _sum(details) >= _LEAST * total
    }
    return kept or found


def causes(report: Contents) -> dict[str, dict[str | None, tuple[int, int]]]:
    """Idle ns and number of gaps, over the steps of `step_rows`, by cause and detail."""
    if "idle_causes" not in report.tables:
        return {}
    rows = report.tables["idle_causes"].records()
    steps = {(row["rank"], row["step"]) for row in step_rows(report)}
    rows = [row for row in rows if (row["rank"], row["step"]) in steps]
    found: dict[str, dict[str | None, tuple[int, int]]] = {}
    for row in rows:
        details = found.setdefault(row["cause"], {})
        ns, gaps = details.get(row["detail"], (0, 0))
        details[row["detail"]] = (ns + row["total_ns"], gaps + row["count"])
    return found


def _row(name: str, ns: int, gaps: int, total: int, steps: int, description: str) -> tuple[str | float, ...]:
    inner = name.startswith("  ")
    share: str | float = "" if inner else ns / total
    return (
        name, duration(ns / steps), percent(ns / total), share,
        f"{gaps / steps:,.0f}" if gaps >= 10 * steps else f"{gaps / steps:.1f}", description,
    )  # fmt: skip


def _sum(details: Mapping[str | None, tuple[int, int]]) -> int:
    return sum(ns for ns, _ in details.values())


def _gaps(details: Mapping[str | None, tuple[int, int]]) -> int:
    return sum(gaps for _, gaps in details.values())
