"""One rank's experts get more tokens than those of the others.

## What it finds
Ranks of a server, or of a training job that its ranges name passes of, whose experts take longer than those of other
ranks, while attention and other multiplications take the same.

## Why it matters
Tokens are exchanged before and after the experts: all ranks wait for the one whose experts have most of them, in every
layer.

## How it decides
Device time of experts per pass (`serving.expert_ns`) and of attention and other GEMMs (`serving.dense_ns`) are held
against each other over all ranks, at least two. The longest of the former must be `min_ratio` times the mean, and
experts `min_share` of a pass; the latter may differ by half of that excess at most, else the ranks have different work
altogether (CLU005); so may ranks that were recorded in passes of unlike phases, of which nothing is said. The price is
the longest less the mean: what even experts would take.

## What to try
Balance experts: place several copies of the busiest ones (EPLB), or place them anew by the load that is served.

## Known limits
Needs recordings of at least two ranks. How many tokens each expert got is not recorded. A slower device would show in
attention and other multiplications, too, and is not this finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.host_advice import BALANCE_EXPERTS
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.serving import dense_ns, expert_ns, mix, pass_ns

#: Part of the experts' excess that other work may show.
_ELSEWHERE = 0.5
#: Part of the passes that may be of another phase on one rank than on another: one of twenty at an edge.
_OTHER_PHASES = 0.05


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Compare the time of experts among ranks."""
    experts = {rank: ns for rank, s in ranks.items() if (ns := s.maybe(expert_ns))}
    if len(experts) < 2 or len(experts) < len(ranks):
        return
    mixes = [ranks[rank].maybe(mix) for rank in experts]
    if _unlike([one for one in mixes if one is not None]):
        return
    usual = mean(experts.values())
    slowest = max(experts, key=lambda rank: (experts[rank], -rank))
    excess = experts[slowest] / usual - 1
    dense = {rank: ranks[rank].maybe(dense_ns) or 0 for rank in experts}
    lengths: list[int] = [ranks[rank].maybe(pass_ns) or 0 for rank in experts]
    length = mean(lengths)
    share = usual / length if length else 0.0
    if excess + 1 < limits["min_ratio"] or share < limits["min_share"] or not min(dense.values()):
        return
    if dense[slowest] / mean(dense.values()) - 1 > _ELSEWHERE * excess:
        return
    yield Draft(
        title="One rank's experts get more tokens than those of the others",
        summary=said(
            "Experts of rank {slowest} take {experts} per pass, {value:.2f} times the mean of {experts_2} "
            "ranks, and {share} of a pass on average; attention and other multiplications take "
            "{dense:.2f} times their mean there.",
            slowest=slowest, experts=duration(experts[slowest]), value=1 + excess, experts_2=len(experts),
            share=percent(share), dense=dense[slowest] / mean(dense.values()),
        ),
        actions=BALANCE_EXPERTS,
        cost_ns=round(experts[slowest] - usual),
        confidence=0.75,
        rows=tuple({"table": "serving_roles", "where": {"rank": rank, "role": "moe"}} for rank in sorted(experts)[:4]),
        numbers={"ratio": 1 + excess, "share": share, **limits},
        ranks=(slowest,),
    )  # fmt: skip


def _unlike(mixes: Sequence[Mapping[str, float]]) -> bool:
    """Whether some ranks were recorded in more passes of a phase: experts take another part of the time in each."""
    phases = {phase for one in mixes for phase in one}
    shares = [[one.get(phase, 0.0) for one in mixes] for phase in phases]
    return any(max(each) - min(each) > _OTHER_PHASES for each in shares)


RULE = Rule(
    "CLU010",
    "uneven-experts",
    thresholds=(
        Threshold("min_ratio", 1.2, "ratio", "Routers balance within a tenth over a batch of usual size."),
        Threshold("min_share", 0.1, "share", "Below, uneven experts cost less than two hundredths of a pass."),
    ),
    job_check=job_check,
    reads=(expert_ns, dense_ns, pass_ns, mix),
)
