"""Two jobs side by side: ranks matched, the worst and the typical one, groups, and what became of late ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from stepscope.comparison.result import Comparison
from stepscope.comparison.side import Unit
from stepscope.comparison.summary import SideFacts
from stepscope.comparison.verdict import StepTimes
from stepscope.jobs.late import late_words
from stepscope.jobs.matching import matched_ranks
from stepscope.jobs.side import ComparedJob, JobRank
from stepscope.jobs.tables import job_tables
from stepscope.reports.blocks import Grid
from stepscope.reports.compared.outline import outline
from stepscope.reports.compared.rank_grids import rank_grids
from stepscope.signals.communication.rank_times import RankTimes

MS = 10**6
FACTS = SideFacts("a", "kineto", 0, 2, (0,), "step", 1, "", "")
TIMES = StepTimes(1, 1, 1, 1, 1, 1, None, "step", "same", "")


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


@pytest.mark.parametrize(
    ("unit", "aside", "groups"),
    [
        ("step", "a rank's step without waits for others; growth by part", "groups, exposed per step"),
        ("window", "a rank's recording without waits for others; growth by part", "groups, exposed"),
    ],
)
def test_ranks_without_steps_are_said_to_have_none(unit: Unit, aside: str, groups: str) -> None:
    facts = replace(FACTS, unit=unit)
    found = Comparison(facts, facts, (), TIMES, (), (), job_tables(job([10, 10]), job([10, 20])))
    [ranks] = [section for section in outline(found).sections if section.title == "Ranks"]
    assert ranks.aside == aside
    assert [block.headings[0].text for block in ranks.blocks if isinstance(block, Grid)] == ["rank", "ranks", groups]


def test_of_ranks_whose_steps_vary_a_lot_the_interval_is_open() -> None:
    first, second = job([10, 10]), job([10, 10])
    first.ranks[1] = replace(first.ranks[1], own=(MS, 999 * MS))
    second.ranks[1] = replace(second.ranks[1], own=(MS, 899 * MS))
    found = Comparison(FACTS, FACTS, (), TIMES, (), (), job_tables(first, second))
    [row] = [row for row in found.table("job_ranks").records() if row["base_rank"] == 1]
    assert (row["ratio"], row["high"], row["sure"]) == (pytest.approx(0.9), None, False)
    assert 0 < row["low"] < 0.001
    [ranks] = [block for block in rank_grids(found, 9) if isinstance(block, Grid) and block.table == "job_ranks"]
    assert ["(0.00 and more)" in map(str, cells) for cells in ranks.rows] == [True, False]


def test_steps_without_time_of_their_own_count_in_the_ratio_of_ranks() -> None:
    """As they do in the times beside it: 1 ms of two steps is half of 2 ms of two."""
    first, second = job([10, 10]), job([10, 10])
    first.ranks[1] = replace(first.ranks[1], own=(2 * MS, 2 * MS))
    second.ranks[1] = replace(second.ranks[1], own=(0, 2 * MS))
    [row] = [row for row in job_tables(first, second)["job_ranks"].records() if row["base_rank"] == 1]
    assert (row["base_own_ns"], row["new_own_ns"], row["ratio"]) == (2 * MS, MS, pytest.approx(0.5))
