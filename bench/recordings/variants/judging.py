"""What is wrong with the answer to a variant, held against the answer to the recording itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.recordings.answer import Answer
from bench.recordings.score import Verdict
from bench.recordings.variants.catalogue import Keeps, Variant

#: Prices within this factor are the same.
FACTOR: Final = 1.3

#: Prices below this share of the step are not held against each other.
_LEAST: Final = 0.02


def faults(base: Verdict, found: Answer, variant: Variant) -> Iterator[str]:
    """What the answer to a variant must not be; faults of the answer to the recording itself are not the variant's."""
    yield from (f"failed: {name}" for name in found.failed if name not in base.answer.failed)
    yield from (f"says “{word}”" for word in base.label.must_not if word in found.advice and word not in base.false)
    yield from _prices_above_the_step(found)
    yield from _first(base, found, variant)
    yield from _steps(base.answer, found, variant)
    yield from _price(base.answer, found, variant)


def _prices_above_the_step(found: Answer) -> Iterator[str]:
    for finding in found.findings:
        if finding.cost_ns is not None and found.step_ns and finding.cost_ns > found.step_ns:
            yield f"price above the step: {finding.code}"


def _first(base: Verdict, found: Answer, variant: Variant) -> Iterator[str]:
    if variant.keeps is Keeps.ALL:
        before, after = ([(one.code, one.cost_ns) for one in answer.findings] for answer in (base.answer, found))
        if before != after:
            yield f"findings differ: {_listed(before, after)}"
        return
    accepted = {*base.label.first, base.answer.family}
    if variant.keeps is not Keeps.EVIDENCE:
        accepted.add("none")
    if variant.keeps is Keeps.PART:
        accepted.update(finding.family for finding in base.answer.findings)
    if found.family not in accepted:
        yield f"first {_code(base.answer)} → {_code(found)}"


def _listed(before: list[tuple[str, int | None]], after: list[tuple[str, int | None]]) -> str:
    gone = " ".join(f"-{code} {cost}" for code, cost in before if (code, cost) not in after)
    come = " ".join(f"+{code} {cost}" for code, cost in after if (code, cost) not in before)
    return f"{gone} {come}".strip() or "in order"


def _code(answer: Answer) -> str:
    return answer.findings[0].code if answer.findings else "none"


def _steps(base: Answer, found: Answer, variant: Variant) -> Iterator[str]:
    before, after = base.recorded_steps * variant.times, found.recorded_steps
    if variant.keeps is Keeps.PART:
        wrong = after > max(1, before)
    elif variant.keeps is Keeps.SOME:
        wrong = after not in (0, 1, before - 1, before)
    elif variant.times > 1:
        # Steps at the edges lie inside when all is repeated.
        wrong = not before - 2 <= after <= before + 2 * variant.times
    else:
        wrong = after != before
    if wrong:
        yield f"steps {base.recorded_steps} → {after}"


def _price(base: Answer, found: Answer, variant: Variant) -> Iterator[str]:
    if variant.keeps is Keeps.PART or not base.findings:
        return
    before = _share(base.findings[0].cost_ns, base)
    after = next((_share(one.cost_ns, found) for one in found.findings if one.code == base.findings[0].code), None)
    if before is None or after is None or max(before, after) < _LEAST:
        return
    if after > before * FACTOR or (after < before / FACTOR and variant.keeps is not Keeps.SOME):
        yield f"price of {base.findings[0].code} {before:.1%} → {after:.1%}"


def _share(cost: int | None, found: Answer) -> float | None:
    return cost / found.step_ns if cost is not None and found.step_ns else None
