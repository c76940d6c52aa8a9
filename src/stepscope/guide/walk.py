"""Walk the guide with a recording's numbers: at each fork, where it turns and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepscope.guide.node import GuidePlace
from stepscope.guide.tree import BY_KEY, TREE
from stepscope.language import listing, pattern, recalled, said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Finding

#: Below this share of the step, a finding decides the way only if it is about the largest part.
_DECISIVE: Final = 0.1
#: What a step is made of, by the places that lead on.
_PARTS: Final = {
    "compute": pattern("compute {share}"),
    "communication": pattern("communication {share}"),
    "copies": pattern("copies {share}"),
    "data": pattern("data {share}"),
    "scheduling": pattern("scheduling {share}"),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """A fork that was passed: where, where to, and why."""

    at: GuidePlace
    to: GuidePlace
    why: str


@dataclass(frozen=True, slots=True)
class Walk:
    """The way through the guide, and the finding at its end, if there is one."""

    turns: tuple[Turn, ...]
    end: GuidePlace
    finding: Finding | None


def walk(budget: Sequence[Mapping[str, Any]], causes: Sequence[Mapping[str, Any]], findings: Sequence[Finding]) -> Walk:
    """The way that a recording's numbers lead.

    The costliest finding decides that costs a tenth of the step or is about its largest part; else that part does.

    Args:
        budget: Rows of `step_budget`.
        causes: Rows of `idle_causes`.
        findings: Of the report, best first.
    """
    priced = [one for one in findings if one.shown and one.cost_ns and one.cost_ns > 0]
    largest = _largest(budget, causes)
    decisive = [one for one in priced if (one.share or 0.0) >= _DECISIVE or _key(one) == largest]
    for finding in decisive or [one for one in findings if one.shown and one.family in ("memory", "cluster")]:
        end = _home(finding)
        if end is not None:
            worth = _worth(finding)
            if end.key in ("cluster", "memory"):
                return Walk((Turn(BY_KEY["start"], end, worth),), end, finding)
            if end.key != largest:
                worth = said("most of what a finding explains is {worth}", worth=worth)
            turns = (Turn(BY_KEY["start"], BY_KEY["step"], said("no rank or link and no memory decides")),
                     Turn(BY_KEY["step"], end, listing((_parts(budget, causes), worth), "; ")))  # fmt: skip
            return Walk(turns, end, finding)
    if not _sums(budget, causes)[1]:
        # Of a host alone no parts are known: what is found there first is told where the guide begins.
        first_found = next((one for one in findings if one.shown and one.family != "recording"), None)
        end = BY_KEY["memory" if any(one.family == "memory" for one in findings) else "start"]
        return Walk((), end, None if end.key == "memory" else first_found)
    end = BY_KEY[largest]
    why = _parts(budget, causes) or said("nothing else is recorded")
    first = Turn(BY_KEY["start"], BY_KEY["step"], said("no finding decides"))
    return Walk((first, Turn(BY_KEY["step"], end, why)), end, None)


def _home(finding: Finding) -> GuidePlace | None:
    found = [node for node in TREE if finding.family in node.families]
    return next((node for node in found if node.key != "start"), None)


def _key(finding: Finding) -> str:
    end = _home(finding)
    return end.key if end else ""


def _worth(finding: Finding) -> str:
    title = recalled(finding.title)
    if not finding.cost_ns:
        return said("{code}: {title}", code=finding.code, title=title)
    values = {"code": finding.code, "title": title, "cost": duration(finding.cost_ns)}
    if not finding.share:
        return said("{code}: {title} ({cost} per step)", **values)
    return said("{code}: {title} ({cost} per step, {share} of it)", **values, share=percent(finding.share))


def _sums(budget: Sequence[Mapping[str, Any]], causes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, int], int]:
    # Steps, as findings are of them; the row of no step leaves out what comes before the device's first activity.
    rows = [row for row in budget if row["step"] is not None] or list(budget)
    total = sum(row["total_ns"] for row in rows)
    parts = {
        "compute": sum(row["compute_ns"] for row in rows),
        "communication": sum(row["exposed_comm_ns"] for row in rows),
        "copies": sum(row["exposed_copy_ns"] for row in rows),
    }
    waits = [row for row in causes if row["step"] is not None] or list(causes)
    data = sum(row["total_ns"] for row in waits if row["cause"] == "data_wait")
    parts |= {"data": data, "scheduling": max(0, sum(row["idle_ns"] for row in rows) - data)}
    return parts, total


def _largest(budget: Sequence[Mapping[str, Any]], causes: Sequence[Mapping[str, Any]]) -> str:
    parts, _ = _sums(budget, causes)
    return max(parts, key=lambda name: parts[name])


def _parts(budget: Sequence[Mapping[str, Any]], causes: Sequence[Mapping[str, Any]]) -> str:
    parts, total = _sums(budget, causes)
    shown = sorted(((value, name) for name, value in parts.items() if value > 0), reverse=True)
    return listing(said(_PARTS[name], share=percent(value / total)) for value, name in shown) if total else ""


def as_json(way: Walk) -> dict[str, Any]:
    """The way by the names of its places, and its finding's code; empty without one."""
    return {
        "turns": [{"at": turn.at.key, "to": turn.to.key, "why": turn.why} for turn in way.turns],
        "end": way.end.key,
        "code": way.finding.code if way.finding else "",
    }
