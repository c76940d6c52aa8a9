"""The findings of a job name the ranks that `slow_ranks` calls slow: each of them once, and no others."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from cluster_support import rank
from rule_support import job_drafts
from stepscope.cluster.job import JobParts
from stepscope.cluster.slow_ranks import slow_ranks
from stepscope.model.errors import MissingInputError
from stepscope.model.recording import Recording
from stepscope.signals.communication.link_rates import LikeCollectives, groups
from stepscope.signals.communication.rank_times import rank_times

_NAMING = ("CLU001", "CLU002", "CLU003", "CLU004", "CLU009")
#: What a rank may be like, and nothing.
_CAUSES: tuple[dict[str, Any], ...] = (
    {}, {"device": 1.3}, {"device": 1.02}, {"work": 1.3}, {"device": 1.4, "work": 1.2},
    {"operator": 3_000, "dispatch": 0.3}, {"operator": 1_100, "dispatch": 0.3}, {"fetched": 390_000},
    {"bubble": 200_000}, {"absent": True}, {"link": True},
)  # fmt: skip


def drawn(seed: int) -> dict[int, dict[Any, Any]]:
    """A job of 2 to 9 ranks, of which some wait less than the others, for all kinds of causes."""
    rng = Random(seed)
    number, staged = rng.randint(2, 9), rng.random() < 0.3
    slow = rng.choice((0, 2, 9))
    links = tuple(
        LikeCollectives(f"[{at}, {at + 1}]", "all_reduce", 1 << 24, 2, 4.0, 10_000 * (4 if at == slow else 1), 1.0)
        for at in range(0, 8, 2)
    )
    ranks: dict[int, dict[Any, Any]] = {}
    for one in range(number):
        cause = rng.choice(_CAUSES) if rng.random() < 0.4 else {}
        wait = (
            rng.choice((0, 1_000, 100_000, 395_000)) if cause or rng.random() < 0.1 else rng.randint(380_000, 400_000)
        )
        place: dict[str, Any] = {"pipe": (one % 2, one % 2 + 2), "place": one // 2 % 2} if staged else {}
        linked = "link" in cause
        ranks[one] = rank(wait, **{key: value for key, value in cause.items() if key != "link"}, **place)
        if linked:
            # Its own transfers take longer, where others idle.
            times = ranks[one][rank_times]
            moved = replace(times, exposed_comm_ns=times.exposed_comm_ns + times.idle_ns, idle_ns=0)
            ranks[one][rank_times] = moved
        ranks[one][groups] = links
    return ranks


def by_table(ranks: dict[int, dict[Any, Any]]) -> set[int]:
    job = JobParts()
    for one, given in ranks.items():
        job.recordings[one] = Recording(str(one), "kineto", one, len(ranks))
        job.times[one] = given[rank_times]
    return {row["rank"] for row in slow_ranks(job).records() if row["slow"]}


def by_findings(ranks: dict[int, dict[Any, Any]]) -> list[int]:
    named = []
    for code in _NAMING:
        try:
            named += [one for draft in job_drafts(code, ranks) for one in draft.late]
        except MissingInputError:
            continue
    return named


@pytest.mark.parametrize("seed", range(60))
def test_the_table_and_the_findings_name_the_same_ranks(seed: int) -> None:
    ranks = drawn(seed)
    named = by_findings(ranks)
    assert sorted(named) == sorted(by_table(ranks))


def test_many_of_these_jobs_have_late_ranks_and_many_have_none() -> None:
    late = [bool(by_table(drawn(seed))) for seed in range(60)]
    assert 15 < sum(late) < 55
