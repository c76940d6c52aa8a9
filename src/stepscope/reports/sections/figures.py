"""Key figures at the head of a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import listing, pattern, said
from stepscope.model.amounts import plural
from stepscope.reports.blocks import PARTS, Figure
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import has_steps, step_rows
from stepscope.reports.sections.idle import causes
from stepscope.reports.units import duration, percent, quantity

#: A part of the step below this share is no figure of its own.
_LEAST: Final = 0.005


def figures(report: Contents) -> tuple[Figure, ...]:
    """Step time, its parts, the largest cause of idle time, and memory, as far as known."""
    if report.selection.tables:
        return ()
    return (*_steps(report), *_idle(report), *_memory(report))


def _steps(report: Contents) -> Iterator[Figure]:
    rows = step_rows(report)
    total = sum(row["total_ns"] for row in rows)
    if not total:
        return
    times = [row["total_ns"] for row in rows]
    per_step = has_steps(report)
    if not per_step:
        yield Figure("in use", duration(total // len(rows)), "no steps are known")
    else:
        span = said("{least} to {most}", least=duration(min(times)), most=duration(max(times))) if len(rows) > 1 else ""
        yield Figure("mean step" if len(rows) > 1 else "step", duration(total // len(rows)), span)
    for part, name in PARTS:
        ns = sum(row[f"{part}_ns"] for row in rows)
        if ns >= _LEAST * total or part in ("compute", "idle"):
            time = duration(ns // len(rows))
            yield Figure(name, percent(ns / total), said("{time} per step", time=time) if per_step else time)


def _idle(report: Contents) -> Iterator[Figure]:
    """The largest cause."""
    total = sum(row["total_ns"] for row in step_rows(report))
    found = {cause: sum(ns for ns, _ in details.values()) for cause, details in causes(report).items()}
    if found and total:
        cause = max(found, key=lambda name: (found[name], name))
        if found[cause] >= _LEAST * total:
            share = pattern("{share} of the step") if has_steps(report) else pattern("{share} of it")
            yield Figure("mostly idle for", cause.replace("_", " "), said(share, share=percent(found[cause] / total)))


def _memory(report: Contents) -> Iterator[Figure]:
    """The device with the highest peak of memory."""
    rows = [row for row in report.rows("memory_peaks") if row["device"] is not None and row["peak_bytes"] is not None]
    if rows:
        peak = max(rows, key=lambda row: int(row["peak_bytes"]))
        whole = said("of {total}", total=quantity(peak["total_bytes"], "bytes")) if peak["total_bytes"] else ""
        among = said("highest of {devices}", devices=plural(len(rows), "device")) if len(rows) > 1 else ""
        sign = "≥ " if peak["peak_is_lower_bound"] else ""
        yield Figure(
            "peak memory", sign + quantity(peak["peak_bytes"], "bytes"), listing(one for one in (whole, among) if one)
        )
    for row in report.rows("memory_snapshot")[:1]:
        yield Figure("reserved", quantity(row["reserved_bytes"], "bytes"), "by the allocator, at the end")
        if row["stranded_share"] is not None:
            stranded = said(
                "{stranded_bytes} in segments that are partly in use",
                stranded_bytes=quantity(row["stranded_bytes"], "bytes"),
            )
            yield Figure("stranded", percent(row["stranded_share"]), stranded)
