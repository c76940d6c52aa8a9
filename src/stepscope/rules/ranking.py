"""Rank findings: merge them over ranks, put symptoms below causes, order by cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from stepscope.rules.finding import Evidence, Finding
from stepscope.rules.pricing import Priced
from stepscope.rules.remaining import share_events

#: Least cost as a share of the step of each severity.
_SEVERITIES: Final = ((0.1, "high"), (0.03, "medium"), (0.0, "low"))
#: The causes of a symptom must together cost this part of its cost to explain it, and the largest one the second part.
_EXPLAINS: Final = 0.6
_FOREMOST: Final = 1 / 3
_MOST_EVENTS: Final = 20
#: What can't be priced stands where it would if this part of the time that it is about could be saved: below all that
#: has a remedy and costs a medium part of the step, with room for the error of that price.
_UNPRICED: Final = 0.025
#: The same of what the device waits for: half of the bytes, or half of the host's work, take half of that.
_WAITING: Final = 0.5
#: Something is known to be wrong with it where a cause of it takes so much away, which the step is not shorter by as
#: long as the host takes as long. Half of that counts, since as much may be left in the way.
_BEHIND: Final = 0.5
_BESIDE: Final = "By itself that saves little of the step, since other work takes as long."


def ranked(found: Sequence[Priced], least: float) -> tuple[Finding, ...]:
    """The findings, the most expensive first, then advice, the surest first.

    Args:
        found: Priced drafts of rules, in any order.
        least: Share of the step below which a finding is not shown unasked.
    """
    merged = _over_ranks(found)
    findings = _with_known_causes(merged, [_finding(one, least) for one in merged])
    above = _above(merged, findings)
    for position, cause in _repeating(merged, findings, above).items():
        above[position] = cause
    # Each shows the price that remains after the ones above it.
    left = [_left(one, finding, least) for one, finding in zip(merged, findings, strict=True)]
    return tuple(sorted(_folded(findings, left, above), key=_order))


def leading(found: Sequence[Priced], least: float) -> list[int]:
    """Positions of the findings that are not a symptom of another one."""
    above = _above(found, [_finding(one, least) for one in found])
    return [position for position in range(len(found)) if position not in above]


def _order(finding: Finding) -> tuple[bool, bool, int, bool, float, str, str]:
    """Failures of the program first, then by cost; advice by confidence, what to record next time last."""
    weight = _weight(finding)
    advice = finding.cost_ns is None and not weight
    sure = finding.confidence if advice else 0.0
    later = advice and finding.family == "recording"
    return not finding.fate, advice, -weight, later, -sure, finding.code, finding.title


def _weight(finding: Finding) -> int:
    """The cost that sets the position: the price, else a part of the time that the finding is about."""
    if finding.cost_ns is not None:
        return finding.cost_ns
    return finding.placed_as_ns or 0


def _with_known_causes(found: Sequence[Priced], findings: Sequence[Finding]) -> list[Finding]:
    """Raise unpriced findings whose cause is known, and show that cause, whatever it costs.

    If two causes delay a step equally, removing one alone saves little: the price of either is small, but neither may
    be hidden.
    """
    told = list(findings)
    for position, finding in enumerate(findings):
        if not finding.placed_as_ns:
            continue
        named = _causes(found[position])
        for other, cause in enumerate(findings):
            behind = round(_BEHIND * (found[other].removed_ns or 0))
            if cause.code in named and not cause.shown and behind > finding.placed_as_ns:
                told[position] = replace(finding, placed_as_ns=max(behind, told[position].placed_as_ns or 0))
                told[other] = replace(cause, shown=True, notes=(*cause.notes, _BESIDE))
    return told


def _over_ranks(found: Sequence[Priced]) -> list[Priced]:
    """Merge each finding over ranks: that of the rank on which it costs most, with all ranks that have it."""
    groups: dict[tuple[str, str], list[Priced]] = {}
    for one in found:
        groups.setdefault((one.registered.rule.code, one.draft.key), []).append(one)
    merged = []
    for same in groups.values():
        # The cost may be unknown on some ranks; a rank's number breaks ties, so that the order is always the same.
        same.sort(key=lambda one: (one.cost_ns is None, -(one.cost_ns or 0), one.ranks))
        ranks = dict.fromkeys(rank for one in same for rank in one.ranks)
        merged.append(replace(same[0], ranks=tuple(ranks)))
    return merged


def _finding(one: Priced, least: float) -> Finding:
    draft, rule = one.draft, one.registered.rule
    share = one.cost_ns / one.step_ns if one.cost_ns is not None and one.step_ns else None
    priced = one.cost_ns is not None
    severity = next(name for bound, name in _SEVERITIES if (share or 0.0) >= bound) if priced else "advice"
    severity = "high" if draft.fate else severity
    gain = None
    if one.cost_ns is not None and one.step_ns and one.cost_ns < one.step_ns:
        gain = one.step_ns / (one.step_ns - one.cost_ns) - 1
    evidence = Evidence(
        ranks=one.ranks,
        steps=draft.steps,
        ranges=draft.ranges,
        events=tuple(draft.events[:_MOST_EVENTS].tolist()),
        rows=draft.rows,
        numbers=dict(draft.numbers),
    )
    taken = draft.taken_ns if one.cost_ns is None else None
    place = draft.placed_as_ns if one.cost_ns is None else None
    if place is None and taken is not None:
        place = round((_WAITING if draft.waiting else _UNPRICED) * taken)
    with_others = one.together
    return Finding(
        rule.code, rule.name, one.registered.family, severity, draft.title, draft.summary, one.cost_ns, gain,
        draft.confidence, evidence, draft.actions, taken_ns=taken,
        placed_as_ns=place, inspect=one.inspect, shown=share is None or share >= least or draft.always, share=share,
        fate=draft.fate, recorded_share=draft.recorded_share if one.cost_ns is None else None,
        waiting=draft.waiting, together_ns=with_others.saved_ns if with_others else None,
        together=with_others.codes if with_others else (), notes=(with_others.text,) if with_others else (),
    )  # fmt: skip


def _left(one: Priced, finding: Finding, least: float) -> Finding:
    """The finding with the price that remains once those above it are fixed."""
    if one.rest_ns is None or one.rest_ns == one.cost_ns:
        return finding
    left = _finding(replace(one, cost_ns=one.rest_ns), least)
    # A cause that is shown beside what it delays stays so.
    shown = left.shown or _BESIDE in finding.notes
    return replace(left, alone_ns=one.cost_ns, shown=shown, notes=finding.notes)


def _repeating(found: Sequence[Priced], findings: Sequence[Finding], above: Mapping[int, int]) -> dict[int, int]:
    """Findings of which little remains once another one is fixed that changes mostly the same events; by position."""
    order = [position for position in range(len(found)) if position not in above and findings[position].shown]
    order.sort(key=lambda position: -(found[position].rest_ns or 0))
    repeated: dict[int, int] = {}
    for number, position in enumerate(order):
        one = found[position]
        if one.rest_ns is None or one.cost_ns is None or 2 * one.rest_ns >= one.cost_ns:
            continue
        same = [other for other in order[:number] if other not in repeated and share_events(one, found[other])]
        if same:
            repeated[position] = same[0]
    return repeated


def _above(found: Sequence[Priced], findings: Sequence[Finding]) -> dict[int, int]:
    """By position of each finding that is a symptom of another one, the position of that."""
    above: dict[int, int] = {}
    # The cheapest first: where two rules take each other for the cause, the more expensive finding stays.
    for position in sorted(range(len(findings)), key=lambda position: _order(findings[position]), reverse=True):
        cause = _cause(found, findings, position)
        if cause is not None and _first_cause(cause, above) != position:
            above[position] = cause
    return above


def _first_cause(position: int, above: Mapping[int, int]) -> int:
    while position in above:
        position = above[position]
    return position


def _folded(alone: Sequence[Finding], left: Sequence[Finding], above: Mapping[int, int]) -> list[Finding]:
    """The findings that are no symptom of another one; the first cause lists all that it explains."""
    below: dict[int, list[str]] = {}
    for position in above:
        if alone[position].shown:
            below.setdefault(_first_cause(position, above), []).append(alone[position].title)
    return [
        replace(finding, symptoms=tuple(sorted(below.get(position, ()))))
        for position, finding in enumerate(left)
        if position not in above
    ]


def _causes(one: Priced) -> tuple[str, ...]:
    """Codes of the rules that may explain a finding."""
    return tuple(code for code in one.registered.rule.symptom_of if code not in one.draft.apart_from)


def _cause(found: Sequence[Priced], findings: Sequence[Finding], position: int) -> int | None:
    """The most expensive finding that explains this one, if all such findings together cost enough to do so."""
    named, cost = _causes(found[position]), _weight(findings[position])
    causes = [other for other, cause in enumerate(findings) if cause.code in named and cause.shown]
    costs = [_weight(findings[other]) for other in causes]
    if not causes or sum(costs) < _EXPLAINS * cost or max(costs) < _FOREMOST * cost:
        return None
    return causes[costs.index(max(costs))]
