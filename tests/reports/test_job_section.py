"""The section on the ranks of a job: who makes the others wait, groups, clocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.cluster.job_support import TIMES, job

from stepscope.cluster.part import GroupPart
from stepscope.cluster.tables import JOB_TABLES
from stepscope.reports.blocks import Grid, Line
from stepscope.reports.contents import Contents
from stepscope.reports.sections.job import job as section
from stepscope.reports.sections.views import SHOWN_OF_JOB

GROUPS = {
    rank: [GroupPart("77", "pp", (rank % 2, rank % 2 + 2), 2, ("send",), 4, 0)] if rank < 2 else [] for rank in range(3)
}


def shown(parts):
    """Rows of the grids, and lines."""
    tables = {name: JOB_TABLES[name].run(parts) for name in SHOWN_OF_JOB}
    blocks = section(Contents({}, (), (), tables), 10).blocks
    grids = [[dict(zip([one.text for one in grid.headings], row, strict=True)) for row in grid.rows]
             for grid in blocks if isinstance(grid, Grid)]  # fmt: skip
    return grids, [block for block in blocks if isinstance(block, Line)]


def test_a_slow_rank_comes_first_with_the_reason():
    slow = replace(TIMES, compute_ns=9_000_000)
    (ranks, _), _ = shown(job([[900_000] * 2, [100_000] * 2, [900_000] * 2], times={1: slow}))
    first, second, _ = ranks
    assert (first["Rank"], first["slow"], first["others wait µs"]) == ("1", "compute", "800.00")
    assert (second["Rank"], second["slow"], second["others wait µs"]) == ("0", "no", "0.00")


def test_of_even_ranks_there_is_a_sentence_instead_of_a_table():
    (comm,), lines = shown(job([[900_000] * 2] * 3))
    assert [row["collective"] for row in comm] == ["all_reduce"]
    assert lines[0].tone == "good"


def test_where_nothing_tells_waiting_nobody_is_said_to_wait():
    groups = {rank: [GroupPart("0", "", (0, 1), 0, ("all_reduce",), 2, 0)] for rank in range(2)}
    parts = job([[900_000] * 2, [700_000] * 2], groups=groups)
    parts.times = dict.fromkeys(range(2), replace(TIMES, waited_ns=None, held_ns=None))
    (comm,), lines = shown(parts)
    assert (comm[0]["shortest µs"], comm[0]["others longer µs"]) == ("1,400.0", "200.0")
    assert not any(line.tone == "good" for line in lines)


def test_one_rank_has_no_such_section():
    assert shown(job([[900_000]])) == ([], [])


def test_groups_are_told_with_those_that_are_not_whole():
    _, lines = shown(job([[900_000]] * 3, groups=GROUPS))
    assert "pipeline (0, 2; 1, 3)" in lines[1].text
    assert "1 group" in lines[1].detail  # of ranks 1 and 3


def test_of_a_group_of_unknown_size_some_ranks_may_be_missing():
    groups = {0: [*GROUPS[0], GroupPart("0", "", (0, 1), 0, ("all_reduce",), 2, 0)]}
    (comm,), lines = shown(job([[900_000]] * 2, groups=groups))
    assert comm[0]["group"] == "group of ranks 0, 1 at hand"
    assert lines[1].text == "groups of ranks: pipeline (0, 2), of unknown purpose (0, 1 at hand)"


@pytest.mark.parametrize(("ahead", "told"), [(5_000, "5.00 µs ahead of"), (0, None)], ids=["ahead", "none"])
def test_the_largest_offset_of_clocks_is_told_with_its_residual(ahead, told):
    ends = [np.arange(4) * 10**6, np.arange(4) * 10**6 + np.array([-10, 0, 0, 10]) + ahead]
    _, lines = shown(job([[900_000] * 4] * 2, ends))
    assert ("ahead of" in lines[-1].text) is (told is not None)
    assert (told or "clocks agree to within 2 ns") in lines[-1].text
