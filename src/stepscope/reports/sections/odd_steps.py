"""Lines about steps that are unlike the others: not typical, or without time of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stepscope.language import pattern, said
from stepscope.reports.blocks import Line
from stepscope.reports.contents import Contents
from stepscope.reports.units import duration

#: Steps that are not typical and are named one by one.
_MOST_NAMED: Final = 6
#: Roles of steps that are not typical, and why they are not.
ROLES: Final = {
    "partial": pattern("the recording starts or ends within"),
    "warm-up": pattern("longer than the steps after"),
    "edge": pattern("with what the profiler's start or stop adds"),
    "outlier": pattern("far from the others in length"),
}


def left_out(report: Contents) -> int:
    """The number of steps that are not typical, where others are."""
    table = report.tables.get("step_budget")
    if not table:
        return 0
    rows = zip(table.column("rank"), table.column("step"), table.column("typical"), strict=True)
    steps = {(rank, step): bool(typical) for rank, step, typical in rows if step is not None}
    typical = sum(steps.values())
    return len(steps) - typical if typical else 0


def odd_steps(report: Contents) -> Iterator[Line]:
    """A line for each kind of steps that are not typical, with their lengths, and one for those without time."""
    yield from _atypical(report)
    yield from _without_time(report)


def _atypical(report: Contents) -> Iterator[Line]:
    if "step_budget" not in report.tables or not left_out(report):
        return
    rows = [
        row
        for row in report.tables["step_budget"].records()
        if row["step"] is not None and not row.get("typical", True)
    ]
    by_role: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_role.setdefault(row["role"], []).append(row)
    for role, same in by_role.items():
        numbers, shown = _named(same)
        times = [row["total_ns"] for row in same]
        span = duration(min(times))
        if len(times) > 1:
            span = said("{least} to {most}", least=span, most=duration(max(times)))
        yield Line(
            said(
                "not counted: {en_step} {shown} ({role}), {span}: {roles}",
                en_step="step" if numbers == 1 else "steps", shown=shown, role=role, span=span,
                roles=said(ROLES[role]) if role in ROLES else "",
            ),
            tone="info",
        )  # fmt: skip


def _without_time(report: Contents) -> Iterator[Line]:
    """Requests that overlap with others until the last of their own work is done: no time is theirs alone."""
    rows = [row for row in report.rows("step_budget") if row.get("source") == "requests" and row["step"] is not None]
    times: dict[tuple[int, int], int] = {}
    for row in rows:
        if row["typical"] and row["device"] is not None:
            place = row["rank"], row["step"]
            times[place] = times.get(place, 0) + row["total_ns"]
    none = [{"step": step} for (_, step), total in times.items() if not total]
    if none:
        numbers, shown = _named(none)
        yield Line(
            said(
                "without time of the device to themselves: {en_step} {shown}; work of earlier ones ended later; they "
                "count in means alone, as 0 ns",
                en_step="step" if numbers == 1 else "steps", shown=shown,
            ),
            tone="info",
        )  # fmt: skip


def _named(rows: list[dict[str, Any]]) -> tuple[int, str]:
    """How many steps rows are of, and the numbers of the first of them."""
    numbers = list(dict.fromkeys(row["step"] for row in rows))
    return len(numbers), ", ".join(map(str, numbers[:_MOST_NAMED])) + (", ..." if len(numbers) > _MOST_NAMED else "")
