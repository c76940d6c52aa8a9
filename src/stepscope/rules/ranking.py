"""Rank findings: merge them over ranks, put symptoms below causes, order by cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stepscope.language import said
from stepscope.rules.finding import Evidence, Finding
from stepscope.rules.pricing import Priced, over_ranks
from stepscope.rules.symptoms import causes_by_symptom, folded, possible_causes, repeating

#: Least cost as a share of the step of each severity.
_SEVERITIES: Final = ((0.1, "high"), (0.03, "medium"), (0.0, "low"))
_MOST_EVENTS: Final = 20
#: What can't be priced stands where it would if this part of the time that it is about could be saved: below all that
#: has a remedy and costs a medium part of the step, with room for the error of that price.
_UNPRICED: Final = 0.025
#: The same of what the device waits for: half of the bytes, or half of the host's work, take half of that.
_WAITING: Final = 0.5
#: Something is known to be wrong with it where a cause of it takes so much away, which the step is not shorter by as
#: long as the host takes as long. Half of that counts, since as much may be left in the way.
_BEHIND: Final = 0.5
#: What takes away so many times what the step is shorter by, and so much of the step more, would make readers wonder.
_HIDDEN_TIMES: Final = 3
_HIDDEN_SHARE: Final = 0.05
_HIDDEN: Final = said("Other work takes nearly as long, so that little of that is saved.")
_BESIDE: Final = said("By itself that saves little, since other work takes as long.")
_UNKNOWN: Final = said(
    "How much of that the step would save is not known: nothing links the device's work to the calls that launched it, "
    "and what the host does meanwhile may take as long."
)


def ranked(found: Sequence[Priced], least: float) -> tuple[Finding, ...]:
    """The findings, the most expensive first, then advice, the surest first; those not shown unasked come last.

    Args:
        found: Priced drafts of rules, in any order.
        least: Share of the step below which a finding is not shown unasked.
    """
    merged = over_ranks(found)
    findings = _with_known_causes(merged, [_finding(one, least) for one in merged])
    above = causes_by_symptom(merged, findings)
    for position, cause in repeating(merged, findings, above).items():
        above[position] = cause
    # Each shows the price that remains after the ones above it.
    left = [_left(one, finding, least) for one, finding in zip(merged, findings, strict=True)]
    order = _behind_late(sorted(folded(findings, left, above), key=lambda finding: finding.order))
    # What isn't shown unasked comes last, so that the others have the same numbers whether it is shown or not.
    return tuple(sorted(order, key=lambda finding: not finding.shown))


def _behind_late(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Put what is about one rank, or ranks that wait, behind the late rank that costs the job most.

    A job is as fast as its late rank: another one that is faster waits longer for it, and what the late rank saves by
    itself is at most what the others wait for it.
    """
    first = next((at for at, one in enumerate(findings) if one.late and one.weight_ns and one.shown), 0)
    before, late = findings[:first], findings[first : first + 1]
    waiting = {rank for one in late for rank in one.evidence.ranks if rank not in one.late}
    of_one = [
        one
        for one in before
        if not one.fate
        and one.evidence.ranks
        and (len(one.evidence.ranks) == 1 or waiting.issuperset(one.evidence.ranks))
    ]
    others = [one for one in before if one not in of_one]
    return (*others, *late, *of_one, *findings[first + 1 :])


def leading(found: Sequence[Priced], least: float) -> list[int]:
    """Positions of the findings that are not a symptom of another one."""
    above = causes_by_symptom(found, [_finding(one, least) for one in found])
    return [position for position in range(len(found)) if position not in above]


def _with_known_causes(found: Sequence[Priced], findings: Sequence[Finding]) -> list[Finding]:
    """Raise unpriced findings whose cause is known, and show that cause, whatever it costs.

    If two causes delay a step equally, removing one alone saves little: the price of either is small, but neither may
    be hidden, unless it is nothing.
    """
    told = list(findings)
    for position, finding in enumerate(findings):
        if not finding.placed_as_ns:
            continue
        named = possible_causes(found[position])
        for other, cause in enumerate(findings):
            behind = round(_BEHIND * (found[other].removed_ns or 0))
            if cause.code in named and not cause.shown and behind > finding.placed_as_ns:
                told[position] = replace(finding, placed_as_ns=max(behind, told[position].placed_as_ns or 0))
                if not cause.cost_ns:
                    continue
                notes = (note for note in cause.notes if note != _HIDDEN)
                told[other] = replace(cause, shown=True, notes=(*notes, _BESIDE))
    return told


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
    notes = (with_others.text,) if with_others else (_UNKNOWN,) if one.unknown else ()
    return Finding(
        rule.code, rule.name, one.registered.family, severity, draft.title, draft.summary, one.cost_ns, gain,
        draft.confidence, evidence, draft.actions, taken_ns=taken,
        placed_as_ns=place, inspect=one.inspect, shown=share is None or share >= least or draft.always, share=share,
        fate=draft.fate, recorded_share=draft.recorded_share if one.cost_ns is None else None,
        waiting=draft.waiting, late=draft.late, together_ns=with_others.saved_ns if with_others else None,
        together=with_others.codes if with_others else (), notes=(*((_HIDDEN,) if _hidden(one) else ()), *notes),
    )  # fmt: skip


def _hidden(one: Priced) -> bool:
    """Whether most of what a remedy takes away is hidden behind other work, so that its price is small beside it.

    That is asked of work that gets shorter; what is moved, or not waited for, may save little for other reasons.
    """
    change = one.draft.change
    if change is not None and (change.overlapped.size or change.unblocked.size or change.time):
        return False
    if not one.cost_ns or not one.removed_ns or not one.step_ns:
        return False
    taken = min(one.removed_ns, one.draft.most_ns or one.removed_ns)
    return taken >= _HIDDEN_TIMES * one.cost_ns and taken - one.cost_ns >= _HIDDEN_SHARE * one.step_ns


def _left(one: Priced, finding: Finding, least: float) -> Finding:
    """The finding with the price that remains once those above it are fixed."""
    if one.rest_ns is None or one.rest_ns == one.cost_ns:
        return finding
    left = _finding(replace(one, cost_ns=one.rest_ns), least)
    # A cause that is shown beside what it delays stays so, unless nothing remains to be saved.
    shown = left.shown or (_BESIDE in finding.notes and bool(left.cost_ns))
    return replace(left, alone_ns=one.cost_ns, shown=shown, notes=finding.notes)
