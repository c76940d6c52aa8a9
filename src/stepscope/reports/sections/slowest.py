"""Which rank of a job is slow: the first sentence of a page about many ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stepscope.language import listing, pattern, said, spoken, told
from stepscope.model.amounts import plural
from stepscope.reports.blocks import Line, Section
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import has_steps
from stepscope.reports.units import duration
from stepscope.rules.finding import Finding

#: Late ranks that are named.
_NAMED: Final = 3
#: A step that would be shorter by less than this part of the waiting: most of it hides behind something else.
_HARDLY: Final = 0.5
#: What a late rank takes longer than its like, by its reason.
_TAKES: Final = {
    "compute": pattern("it computes {time} longer"), "host": pattern("its device idles {time} longer"),
    "copies": pattern("it copies {time} longer"), "link": pattern("its transfers take {time} longer"),
    "start": pattern("its steps begin {time} later"),
}  # fmt: skip
#: The same of a rank whose model runs on the processor.
_ON_PROCESSOR: Final = {
    **_TAKES, "compute": pattern("its operators take {time} longer"),
    "host": pattern("it spends {time} longer outside of operators"),
}  # fmt: skip
#: Rules that say that ranks wait for something that is no rank at hand.
_OTHERS: Final = ("CLU005", "CLU002", "CLU006")


def slowest(report: Contents, top: int) -> Section:
    """Which rank the others wait for, or that there is none, or that nothing tells."""
    del top
    ranks = report.rows("slow_ranks")
    if len(ranks) < 2:
        return Section("Which rank is slow", ())
    late = [row for row in ranks if row["slow"]]
    found = report.diagnosis.shown if report.diagnosis is not None else ()
    steps = has_steps(report)
    line = _late(late, found, steps) if late else _none(ranks, found, steps)
    return Section("Which rank is slow", (line,), aside=_at_hand(report))


def _late(late: Sequence[dict[str, Any]], found: Sequence[Finding], steps: bool) -> Line:
    first, *others = late
    caused = duration(first["caused_ns"])
    cost = next((one.cost_ns for one in found if first["rank"] in one.late), None)
    if steps and cost is not None and cost < _HARDLY * first["caused_ns"]:
        caused = said("{caused} per step, and the step last {cost} longer", caused=caused, cost=duration(cost))
    elif steps:
        caused = said("{caused} per step", caused=caused)
    words = _ON_PROCESSOR if first["on_processor"] else _TAKES
    takes = said(words[first["reason"]], time=duration(first[f"late_{first['reason']}_ns"]))
    named = listing(
        said("rank {rank} ({caused})", rank=row["rank"], caused=duration(row["caused_ns"])) for row in others[:_NAMED]
    )
    more = said(" and {ranks}", ranks=plural(len(others) - _NAMED, "more rank")) if len(others) > _NAMED else ""
    return Line(
        said("rank {rank} makes the others wait {caused}: {takes}", rank=first["rank"], caused=caused, takes=takes),
        said("late as well: {named}{more}", named=named, more=more) if others else "",
        "warning",
    )


def _none(ranks: Sequence[dict[str, Any]], found: Sequence[Finding], steps: bool) -> Line:
    """No rank at hand is late: what they wait for instead, or why that is not known."""
    if not told_apart(ranks):
        return Line(
            "which rank is slow can't be told: nothing in the recordings distinguishes waiting from transfers",
            "record the same steps on all ranks and open them together",
            "info",
        )
    other = next((one for one in found if one.code in _OTHERS), None)
    if other is not None:
        return Line(
            said(
                "no rank at hand makes its like wait: {lowered} ({code})",
                lowered=_lowered(other.title), code=other.code,
            ),
            tone="warning",
        )  # fmt: skip
    return even(ranks, steps)


def told_apart(ranks: Sequence[dict[str, Any]]) -> bool:
    """Whether the recordings tell waiting from transfers."""
    return any(row["waited_ns"] is not None for row in ranks)


def even(ranks: Sequence[dict[str, Any]], steps: bool) -> Line:
    """That no rank is late, of those that were looked at."""
    known = sum(row["waited_ns"] is not None for row in ranks)
    if known < 2:
        return Line(
            "which rank is slow can't be told of one", "look at all ranks together, over the same steps", "info"
        )
    if known < len(ranks):
        return Line(said("none of the {known:,} ranks that were looked at makes the others wait", known=known))
    if steps:
        return Line("no rank makes the others wait 1 % of the step or more", tone="good")
    return Line("no rank makes the others wait 1 % of the time or more", tone="good")


def _lowered(title: str) -> str:
    return title[:1].lower() + title[1:] if spoken() == "en" else told(title)


def _at_hand(report: Contents) -> str:
    """How many ranks that is said of."""
    here, world = len(report.sources), world_of(report)
    if world > here:
        return said("of {here:,} of {world:,} ranks", here=here, world=world)
    recorded = any(line.world_size for line in report.ranks)
    return said("of {here:,} ranks", here=here) if recorded else said("of {here:,} ranks at hand", here=here)


def world_of(report: Contents) -> int:
    """How many ranks the job has at least, by what is recorded; 0 if nothing is."""
    recorded = [line.world_size or 0 for line in report.ranks]
    return max((*recorded, *(row["size"] or 0 for row in report.rows("parallel_groups"))), default=0)
