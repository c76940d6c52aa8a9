"""Coverage of the recording: how much was recorded, how busy the device was, which steps count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stepscope.language import said
from stepscope.model.amounts import plural
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import has_steps, step_rows
from stepscope.reports.sections.odd_steps import ROLES, left_out
from stepscope.reports.text import visible
from stepscope.reports.units import duration, percent

#: What lies outside the steps is named from this share of the recorded time on.
_WORTH: Final = 0.1
_OUTSIDE: Final = ("start-up", "between", "after")
_NAMES: Final = {
    "start-up": said("before the steps"),
    "between": said("between the steps"),
    "after": said("after the steps"),
}
#: The same where no steps are marked.
_UNMARKED: Final = {
    "start-up": said("start-up"),
    "between": said("between"),
    "after": said("after the last device work"),
}
#: A rank whose step takes this many times the mean is named.
_CLEARLY: Final = 1.05


def covered(report: Contents) -> Iterator[str]:
    """`46.7 s recorded`, `device busy 91 % of the step`, `4 typical steps of 841 ms (of 6)`, and what lies outside."""
    rows = report.rows("coverage")
    if not rows:
        return
    totals: dict[int, int] = {}
    for row in rows:
        totals[row["rank"]] = totals.get(row["rank"], 0) + row["total_ns"]
    # Parts outside the steps are those of the rank with the longest recording.
    rank, longest = max(totals.items(), key=lambda item: (item[1], -item[0]))
    if longest:
        yield said("{longest} recorded", longest=duration(longest))
    yield from _steps(report)
    if not any(row["busy_ns"] for row in rows):
        yield from _left_out([row for row in rows if row["rank"] == rank], longest)
    yield from _outside([row for row in rows if row["rank"] == rank], longest, has_steps(report))


def _steps(report: Contents) -> Iterator[str]:
    rows = step_rows(report)
    total = sum(row["total_ns"] for row in rows)
    if not total and has_steps(report) and any(row["device"] is not None for row in rows):
        yield _without_time(len({(row["rank"], row["step"]) for row in rows}), rows[0].get("source") == "requests")
        return
    if not total:
        # Without a recorded device, the length of a step is that on the host.
        lengths = [row["end_ns"] - row["start_ns"] for row in rows if row["step"] is not None]
        if lengths:
            yield said(
                "{steps} of {lengths} on the host",
                steps=plural(len(lengths), "typical step"), lengths=duration(sum(lengths) // len(lengths)),
            )  # fmt: skip
        return
    busy = percent(1 - sum(row["idle_ns"] for row in rows) / total)
    if not has_steps(report):
        yield said(
            "device busy {busy} of the {total} in which it was in use, no steps known",
            busy=busy, total=duration(total // len(rows)),
        )  # fmt: skip
        return
    ranks = len({row["rank"] for row in rows})
    number = round(len({(row["rank"], row["step"]) for row in rows}) / ranks)
    others = round(left_out(report) / ranks)
    of = said(" (of {number} recorded)", number=number + others) if others else ""
    yield said(
        "{number} of {total}{of}{slowest}",
        number=_counted(report, rows, number), total=duration(total // len(rows)), of=of,
        slowest=_slowest(rows, total // len(rows)),
    )  # fmt: skip
    yield said("device busy {busy} of it", busy=busy)


def _left_out(rows: list[dict[str, Any]], recorded: int) -> Iterator[str]:
    """Steps that are not typical, of a host alone: with a device, the budget names them."""
    for row in rows:
        if row["part"] in ROLES and row["total_ns"] >= _WORTH * recorded:
            yield said(
                "{number} not counted ({role}) {time}",
                number=plural(row["count"], "step"), role=row["part"], time=duration(row["total_ns"]),
            )  # fmt: skip


def _slowest(rows: list[dict[str, Any]], mean: int) -> str:
    """The rank with the longest steps, where clearly longer than the mean: prices are about that one."""
    lengths: dict[int, list[int]] = {}
    for row in rows:
        lengths.setdefault(row["rank"], []).append(row["total_ns"])
    rank, longest = max(((rank, sum(own) // len(own)) for rank, own in lengths.items()), key=lambda item: item[1])
    return said(", {longest} on rank {rank}", longest=duration(longest), rank=rank) if longest > _CLEARLY * mean else ""


def _counted(report: Contents, rows: list[dict[str, Any]], number: int) -> str:
    """So many steps by what a step is: a request, a step of denoising, a pass of a network."""
    match rows[0].get("source"):
        case "requests":
            return plural(number, "typical request")
        case "passes" if any(program.kind == "diffusion" for program in report.programs.values()):
            return plural(number, "typical denoising step")
        case "passes":
            return plural(number, "typical pass", "typical passes")
    return plural(number, "typical step")


def _without_time(number: int, requests: bool) -> str:
    """Steps whose work was done before that of earlier ones was, or that gave the device none."""
    return said(
        "{steps} without time of the device to {en_itself}",
        steps=plural(number, "request") if requests else plural(number, "step"),
        en_itself="itself" if number == 1 else "themselves",
    )


def _outside(rows: list[dict[str, Any]], recorded: int, marked: bool) -> Iterator[str]:
    """Time outside the steps, with the call or copies that take most of it."""
    for row in rows:
        if row["part"] not in _OUTSIDE or row["total_ns"] < _WORTH * recorded:
            continue
        where = _NAMES[row["part"]] if marked else _UNMARKED.get(row["part"], row["part"])
        what = ""
        if row["call"] is not None and row["call_ns"] > row["copies_ns"]:
            what = said(", {call} of it one {name}", call=duration(row["call_ns"]), name=visible(row["call"]))
        elif row["copies_ns"] > _WORTH * row["total_ns"]:
            what = said(", {copies} of it copies", copies=duration(row["copies_ns"]))
        yield said("{where} {time}{what}", where=where, time=duration(row["total_ns"]), what=what)
