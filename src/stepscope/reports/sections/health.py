"""Sections on health and on tables that were not computed."""

from __future__ import annotations

from typing import Final

from stepscope.language import listing, recalled, said, spoken
from stepscope.model.amounts import plural
from stepscope.reports.blocks import Line, Section
from stepscope.reports.contents import Contents
from stepscope.reports.health import SEVERITIES, HealthLine, by_reason
from stepscope.reports.once import of_one, once
from stepscope.reports.sections.merged import shape, together
from stepscope.reports.sections.snapshot import UNSAID, is_snapshot
from stepscope.reports.text import visible

_NOT_COMPUTED = "not-computed"
#: Observations that begin so are about the recording: their count says how many ranks have it.
_OF_ALL: Final = ("no ", "recorded because ", "the ", "there ", "calls ", "of a rank ", "only ", "what ", "how ", "it ")


def health(report: Contents, top: int) -> Section:
    """What is wrong with the recording; the same observation on many ranks is one line."""
    del top
    unsaid = UNSAID if is_snapshot(report) else ()
    lines = [line for line in report.health if line.code != _NOT_COMPUTED and line.code not in unsaid]
    if not lines:
        return Section("Health", (Line("no problem found in the recording", tone="good"),))
    grouped: dict[tuple[str, str, str], list[HealthLine]] = {}
    for line in lines:
        grouped.setdefault((line.code, line.severity, shape(line.effect)), []).append(line)
    several = len({one.rank for one in report.ranks}) > 1
    blocks = tuple(_line(same, several) for same in grouped.values())
    severities = [severity for _, severity, _ in grouped]
    counts = [_counted(severity, severities.count(severity)) for severity in SEVERITIES if severity in severities]
    return Section("Health", blocks, aside=listing(counts))


def _counted(severity: str, number: int) -> str:
    if severity == "error":
        return plural(number, "error")
    return plural(number, "warning") if severity == "warning" else plural(number, "note")


def missing(report: Contents, top: int) -> Section:
    """What was not computed and what to record next time; tables with the same reason share a line."""
    del top
    blocks = []
    for same in by_reason(one for one in report.abstentions if not one.failed):
        first = same[0]
        tables = ", ".join(one.table for one in same)
        of = said(" (of {ranks})", ranks=plural(len(first.ranks), "rank")) if first.partly else ""
        blocks.append(
            Line(
                said("{tables}{of}: {message}", tables=tables, of=of, message=recalled(visible(first.message))),
                visible(first.hint),
            )
        )
    return Section("Not computed", tuple(blocks), aside="what to record next time")


def _line(same: list[HealthLine], several: bool) -> Line:
    first = same[0]
    number = sum(line.count for line in same)
    ranks = sorted({line.rank for line in same if line.rank is not None})
    where = (
        said(" ({ranks} ranks)", ranks=len(ranks))
        if len(ranks) > 1
        else said(" (rank {rank})", rank=ranks[0])
        if ranks and several
        else ""
    )
    effect = together([line.effect for line in same])
    effect = "" if effect == "none" else recalled(effect.removeprefix("none; "))
    message = together([line.message for line in same if shape(line.message) == shape(first.message)])
    if _is_counted(message) and number == 1 and spoken() == "en":
        alone = once(message)
        # A message that no pattern fits is told of many things, with its count behind it.
        message, effect = (alone, of_one(effect)) if alone else (f"{message} (1)", effect)
    elif _is_counted(message):
        message = said("{number:,} {message}", number=number, message=recalled(message))
    return Line(
        visible(said("{message}{where}", message=recalled(message), where=where)), visible(effect), first.severity
    )


def _is_counted(message: str) -> bool:
    """Whether an observation is one of things that can be many, such as `events are ...`, and not of a file by name."""
    return message[:1].islower() and "." not in message.split(" ", 1)[0] and not message.startswith(_OF_ALL)
