"""Two jobs side by side: ranks matched, the worst and the typical one, groups, and what became of late ranks."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.jobs.late import late_words
from stepscope.jobs.matching import matched_ranks
from stepscope.jobs.side import ComparedJob, JobRank
from stepscope.jobs.tables import job_tables
from stepscope.signals.communication.rank_times import RankTimes

MS = 10**6


def job(computes: Sequence[int], stages: int = 1, first: int = 0) -> ComparedJob:
    """Ranks that compute so many ms and wait for the slowest of all; five steps each."""
    longest, found = max(computes), ComparedJob()
    for i, compute in enumerate(computes):
        wait = (longest - compute) * MS
        times = RankTimes(
            5, (longest + 2) * MS, compute * MS, wait + MS, 0, MS, wait, wait, tuple((n, wait) for n in range(5)),
            tuple(range(stages)) if stages > 1 else (), i * stages // len(computes) if stages > 1 else None,
        )  # fmt: skip
        own = tuple((compute + 2) * MS + n for n in range(5))
        found.ranks[first + i] = JobRank(first + i, "host", times, own)
    found.groups = {"data": (1, {rank: one.times.exposed_comm_ns for rank, one in found.ranks.items()})}
    return found


def test_the_worst_and_the_typical_rank_of_each_job_stand_beside_each_other() -> None:
    tables = job_tables(job([10, 10, 10, 10]), job([10, 10, 20, 10]))
    worst, typical = tables["job_worst"].records()
    assert (worst["which"], worst["base_rank"], worst["new_rank"], worst["most"]) == ("worst", 3, 2, "compute")
    assert (worst["base_own_ns"], worst["new_own_ns"], worst["sure"]) == (12 * MS + 2, 22 * MS + 2, True)
    assert (typical["base_own_ns"], typical["new_own_ns"], typical["sure"]) == (12 * MS + 2, 12 * MS + 2, False)
    assert tables["job_ranks"].records()[0]["new_rank"] == 2
    [group] = tables["job_groups"].records()
    assert (group["purpose"], group["base_ns"], group["new_ns"]) == ("data", MS, (1 + 30 / 4) * MS)


def test_ranks_meet_by_number_or_by_their_place_in_a_stage() -> None:
    def pairs(base: ComparedJob, new: ComparedJob) -> list[tuple[str, int | None, int | None]]:
        return [(match, a and a.rank, b and b.rank) for match, a, b in matched_ranks(base, new)]

    assert pairs(job([9, 9]), job([9, 9])) == [("rank", 0, 0), ("rank", 1, 1)]
    assert pairs(job([9, 9]), job([9, 9], first=8)) == [("place", 0, 8), ("place", 1, 9)]
    staged = pairs(job([9] * 4, stages=2), job([9] * 6, stages=2))
    assert staged == [("place", 0, 0), ("place", 1, 1), ("place", 2, 3), ("place", 3, 4), ("none", None, 2),
                      ("none", None, 5)]  # fmt: skip


def test_stages_have_a_worst_rank_each() -> None:
    table = job_tables(job([9, 9, 5, 6], stages=2), job([9, 9, 8, 6], stages=2))["job_worst"]
    found = {(row["stage"], row["which"]): (row["base_rank"], row["new_rank"]) for row in table.records()}
    assert found[1, "worst"] == (3, 2)
    assert set(found) == {(stage, which) for stage in (None, 0, 1) for which in ("worst", "typical")}


def test_a_rank_that_the_others_wait_for_since_is_said() -> None:
    even, uneven = job([10, 10, 10, 10]), job([10, 10, 20, 10])
    assert late_words(even, even) == late_words(uneven, uneven) == ""
    assert "wait 10 ms per step for rank 2, for none" in late_words(even, uneven).replace("10.0 ms", "10 ms")
    assert "compute" in late_words(even, uneven)
    assert "no longer for rank 2" in late_words(uneven, even)


def test_a_job_without_typical_steps_has_no_tables() -> None:
    assert job_tables(ComparedJob(untimed=[0]), job([9, 9])) == {}
