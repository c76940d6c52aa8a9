"""Find which findings are symptoms of others, or repeat them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from stepscope.rules.finding import Finding
from stepscope.rules.pricing import Priced
from stepscope.rules.remaining import share_events

#: The causes of a symptom must together cost this part of its cost to explain it, and the largest one `_FOREMOST`.
_EXPLAINS: Final = 0.6
#: The same where the largest is that a rank or link is worse than its like. Both prices are about the same time: once
#: the cause is mended the symptom is worth the difference, so that from half on the cause is worth more. What is broken
#: is mended whatever else is done, while other causes and symptoms have remedies that can take each other's place.
_EXPLAINS_OF_JOB: Final = 0.5
_FOREMOST: Final = 1 / 3
#: The same of kernels that could be fused: each saves its own launches, which leaves the host as slow at all others.
_FOREMOST_FUSED: Final = 1 / 2


def repeating(found: Sequence[Priced], findings: Sequence[Finding], above: Mapping[int, int]) -> dict[int, int]:
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


def causes_by_symptom(found: Sequence[Priced], findings: Sequence[Finding]) -> dict[int, int]:
    """By position of each finding that is a symptom of another one, the position of that."""
    above: dict[int, int] = {}
    # The cheapest first: where two rules take each other for the cause, the more expensive finding stays.
    for position in sorted(range(len(findings)), key=lambda position: findings[position].order, reverse=True):
        cause = _cause(found, findings, position)
        if cause is not None and _first_cause(cause, above) != position:
            above[position] = cause
    return above


def _first_cause(position: int, above: Mapping[int, int]) -> int:
    while position in above:
        position = above[position]
    return position


def _is_what_makes_late(cause: Finding, late: Finding) -> bool:
    """Whether a possible cause was seen on late ranks alone: it says why these are late, not why all are slow."""
    return bool(late.late) and set(cause.evidence.ranks) <= set(late.late)


def _elsewhere(cause: Finding, mine: Finding) -> bool:
    """Whether a possible cause is about what lies outside of the typical steps, and this finding is priced in them."""
    return cause.recorded_share is not None and mine.recorded_share is None and mine.cost_ns is not None


def folded(alone: Sequence[Finding], left: Sequence[Finding], above: Mapping[int, int]) -> list[Finding]:
    """The findings that are no symptom of another one; the first cause lists all that it explains, and who is late."""
    below: dict[int, list[str]] = {}
    late: dict[int, list[int]] = {}
    for position in above:
        first = _first_cause(position, above)
        late.setdefault(first, []).extend(alone[position].late)
        if alone[position].shown:
            below.setdefault(first, []).append(alone[position].title)
    return [
        replace(
            finding,
            symptoms=tuple(sorted(below.get(position, ()))),
            late=tuple(dict.fromkeys((*finding.late, *late.get(position, ())))),
        )
        for position, finding in enumerate(left)
        if position not in above
    ]


def possible_causes(one: Priced) -> tuple[str, ...]:
    """Codes of the rules that may explain a finding."""
    return tuple(code for code in one.registered.rule.symptom_of if code not in one.draft.apart_from)


def _explains_ns(one: Priced, finding: Finding) -> int:
    """What of a finding's cost others may be symptoms of."""
    return finding.weight_ns if one.explains_ns is None else min(finding.weight_ns, one.explains_ns)


def _cause(found: Sequence[Priced], findings: Sequence[Finding], position: int) -> int | None:
    """The most expensive finding that explains this one, if all such findings together cost enough to do so."""
    mine = findings[position]
    for other, late in enumerate(findings):
        if late.shown and mine.code in possible_causes(found[other]) and _is_what_makes_late(mine, late):
            return other
    named, cost = possible_causes(found[position]), mine.weight_ns
    causes = [
        other for other, cause in enumerate(findings)
        if cause.code in named and cause.shown and not _is_what_makes_late(cause, mine) and not _elsewhere(cause, mine)
    ]  # fmt: skip
    costs = [_explains_ns(found[other], findings[other]) for other in causes]
    if not causes:
        return None
    first = causes[costs.index(max(costs))]
    if sum(costs) < (_EXPLAINS_OF_JOB if findings[first].family == "cluster" else _EXPLAINS) * cost:
        return None
    of_host = findings[first].family == "kernels" and findings[position].family == "host"
    return first if max(costs) >= (_FOREMOST_FUSED if of_host else _FOREMOST) * cost else None
