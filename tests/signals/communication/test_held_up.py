"""Which rank of a pipeline the others wait for in the end."""

from __future__ import annotations

import pytest

from stepscope.signals.communication.held_up import like_ranks, origins

PIPELINES = [(0, 3), (1, 4), (2, 5)]
#: The second stage takes longer by its nature.
OWN = {0: 1_000, 1: 1_000, 2: 1_000, 3: 1_200, 4: 1_200, 5: 1_200}


def test_ranks_of_one_stage_are_alike_among_pipelines_of_one_length() -> None:
    assert like_ranks([*PIPELINES, (6, 7, 8)]) == [(0, 1, 2), (3, 4, 5), (6,), (7,), (8,)]


@pytest.mark.parametrize(("slow", "late"), [(1, 4), (4, 4), (4, 1)])
def test_the_origin_is_the_rank_of_the_pipeline_that_takes_longer_than_its_like(slow: int, late: int) -> None:
    assert origins([late], PIPELINES, {**OWN, slow: OWN[slow] + 300}, 100) == (slow,)


@pytest.mark.parametrize(("longer", "found"), [(100, (1,)), (99, ())])
def test_a_rank_that_hardly_takes_longer_is_none(longer: int, found: tuple[int, ...]) -> None:
    assert origins([4], PIPELINES, {**OWN, 1: OWN[1] + longer}, 100) == found


@pytest.mark.parametrize(("second", "found"), [(150, (1, 4)), (149, (1,))])
def test_a_second_rank_counts_from_half_on(second: int, found: tuple[int, ...]) -> None:
    assert origins([4], PIPELINES, {**OWN, 1: OWN[1] + 300, 4: OWN[4] + second}, 100) == found


def test_other_pipelines_are_not_suspected_and_what_is_not_known_tells_nothing() -> None:
    assert origins([4], PIPELINES, {**OWN, 2: 9_000}, 100) == ()
    assert origins([4], PIPELINES, {1: 9_000, 4: 9_000}, 100) == ()
    assert origins([], PIPELINES, {**OWN, 1: 9_000}, 100) == ()
