"""Which remedies are tried on a program, in which order, and what each is predicted to save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepscope.trying.recorded import NamedFinding
from stepscope.trying.registry import all_remedies, chosen
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


@dataclass(frozen=True, slots=True)
class RemedyCandidate:
    """A remedy that is to be tried, or that was asked for and can't be.

    Attributes:
        remedy: The remedy.
        rule: Code of the finding that names it; empty if none does.
        share: What the finding says that it saves, as a share of the step, or what was seen says where it has no
            price, or what the machine can give, if that is less; None if nothing says it.
        unfit: Why it can't be applied, a phrase; empty if it can.
    """

    remedy: OutsideRemedy
    rule: str
    share: float | None
    unfit: str = ""


def candidates(
    findings: Sequence[NamedFinding], seen: Seen, only: Sequence[str], everything: bool
) -> list[RemedyCandidate]:
    """Remedies to try, the most promising first.

    Args:
        findings: Of the recorded run.
        seen: What a run of the unchanged program showed.
        only: Names of the remedies that were asked for; empty for those that a finding names, or what was seen.
        everything: Try all remedies that fit.

    Raises:
        UserError: There is no such remedy.
    """
    found = []
    for remedy in chosen(only) if only else all_remedies().values():
        mine = [one for one in findings if one.shown and _names(one, remedy)]
        unfit = remedy.fits(seen)
        evident = not unfit and remedy.evident(seen)
        if not (mine or evident or only or everything or (not unfit and remedy.worth(seen))):
            continue
        best = max(mine, key=lambda one: one.share or 0.0, default=None)
        if unfit and not only:
            continue
        price = best.share if best and best.share is not None else remedy.predicts(seen)
        share = min(price, max(remedy.most(seen), 0.0)) if price is not None else None
        found.append(RemedyCandidate(remedy, best.code if best else "", share, unfit))
    # What was seen is certain, while a finding may name several; whatever compiles takes long.
    sure = {one.remedy.name for one in found if not one.unfit and not one.remedy.model and one.remedy.evident(seen)}
    return sorted(found, key=lambda one: (one.remedy.name not in sure, -(one.share or 0.0)))


def _names(finding: NamedFinding, remedy: OutsideRemedy) -> bool:
    return finding.code in remedy.rules and not (finding.code in remedy.unpriced and finding.share is not None)
