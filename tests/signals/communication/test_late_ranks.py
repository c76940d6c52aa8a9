"""Which ranks the others wait for: one definition for tables and rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepscope.model.intervals import Intervals
from stepscope.signals.communication.cluster import pushed_by, unhidden
from stepscope.signals.communication.late_ranks import late_ranks, stages
from stepscope.signals.communication.rank_times import RankTimes

STEP = 10_000_000


def times(wait: int, *, waits: list[int] | None = None, steps: int = 4, held: int | None = None, **parts) -> RankTimes:
    """A rank whose step of 10 ms is 5 ms of computing, so much waiting, and idle time."""
    each = waits if waits is not None else [wait] * steps
    mean = sum(each) // len(each)
    made = RankTimes(
        len(each), STEP, 5_000_000, mean, 0, 5_000_000 - mean, mean, mean if held is None else held,
        tuple(enumerate(each)),
    )  # fmt: skip
    return replace(made, **parts)


def named(*ranks: RankTimes) -> dict[int, int]:
    return {rank: late.wait_ns for rank, late in late_ranks(dict(enumerate(ranks))).items()}


def test_the_rank_that_hardly_waits_is_late_by_what_the_others_wait_longer() -> None:
    assert named(times(400_000), times(10_000), times(420_000)) == {1: 400_000}
    assert named(times(400_000), times(0)) == {1: 400_000}


def test_several_ranks_may_be_late_but_not_most() -> None:
    assert named(times(400_000), times(0), times(400_000), times(10_000)) == {1: 400_000, 3: 390_000}
    assert named(times(400_000), times(0), times(0)) == {}


@pytest.mark.parametrize(("wait", "late"), [(120_000, True), (120_001, False)])
def test_who_waits_up_to_three_tenths_of_what_is_usual_comes_last(wait: int, late: bool) -> None:
    assert bool(named(times(400_000), times(wait), times(400_000))) is late


@pytest.mark.parametrize(("usual", "least", "late"), [(100_000, 100_000, True), (99_999, 99_999, False),
                                                      (400_000, 99_999, False)])  # fmt: skip
def test_all_others_wait_a_hundredth_of_the_step_for_it(usual: int, least: int, late: bool) -> None:
    """Else the step would be hardly shorter without it being late: the next one is nearly as late."""
    assert bool(named(times(usual), times(0), times(usual), times(least, held=usual))) is late


@pytest.mark.parametrize(
    ("steps", "late", "found"),
    [(1, 1, True), (2, 2, True), (2, 1, False), (3, 3, True), (3, 2, False), (9, 3, True), (9, 2, False)],
)
def test_a_rank_is_late_in_three_steps_or_all(steps: int, late: int, found: bool) -> None:
    waits = [0] * (steps - late) + [5_000_000] * late
    assert bool(named(times(0, waits=waits), times(0, waits=[0] * steps), *[times(0, waits=waits)] * 2)) is found


@pytest.mark.parametrize(("short", "steps"), [(1, 8), (3, 8), (4, 4), (8, 8)])
def test_a_rank_of_which_few_steps_are_there_leaves_those_of_the_others(short: int, steps: int) -> None:
    found = late_ranks(dict(enumerate([times(400_000, steps=8), times(0, steps=8), times(400_000, steps=short)])))
    assert {rank: one.steps for rank, one in found.items()} == {1: steps}


def test_a_late_rank_of_which_few_steps_are_there_is_held_against_these() -> None:
    found = late_ranks(dict(enumerate([times(400_000, steps=8), times(0, steps=2), times(400_000, steps=8)])))
    assert {rank: one.steps for rank, one in found.items()} == {1: 2}


def test_noise_makes_no_rank_late() -> None:
    """In 200 jobs of 2 to 8 ranks each takes a standard deviation of 2 % of the step longer or shorter."""
    draw, alarms = np.random.default_rng(7), 0
    for _ in range(200):
        ranks, steps = int(draw.integers(2, 9)), int(draw.integers(3, 7))
        own = draw.normal(0, 0.02 * STEP, (ranks, steps))
        waits = (own.max(axis=0) - own).astype(int)
        alarms += bool(named(*(times(0, waits=row.tolist()) for row in waits)))
    assert alarms <= 4


def test_a_slow_rank_is_found_through_the_same_noise() -> None:
    """Its own time is 10 % of the step longer, the noise of a step 1 %."""
    draw = np.random.default_rng(8)
    for _ in range(50):
        ranks = int(draw.integers(2, 9))
        own = draw.normal(0, 0.01 * STEP, (ranks, 5))
        own[1] += 0.1 * STEP
        waits = (own.max(axis=0) - own).astype(int)
        assert list(named(*(times(0, waits=row.tolist()) for row in waits))) == [1]


def between(first: dict[int, int], second: dict[int, int], *, steps: int = 4, mine: int = 0, **parts) -> RankTimes:
    """A rank that waits for others in two collectives of each step: by who came last, how long."""
    waits = sum(first.values()) + sum(second.values()) + mine
    awaited = tuple((step, last, ns) for step in range(steps) for last, ns in (*first.items(), *second.items()))
    return times(waits, steps=steps, awaited=awaited, **parts)


def two_late(late: int, *, least: int | None = None, steps: int = 4, mine: int = 0, **parts) -> dict[int, int]:
    """Rank 0 makes the others wait in the first collective, rank 1, which waits there, in the second."""
    held = between({0: 2_000_000}, {}, steps=steps, mine=mine, **parts)
    others = [between({0: 2_000_000}, {1: late}, steps=steps, **parts) for _ in range(2)]
    next_one = between({0: 2_000_000}, {1: late if least is None else least}, steps=steps, **parts)
    return named(between({}, {1: late}, steps=steps, **parts), held, *others, next_one)


def test_two_ranks_may_be_late_in_turn() -> None:
    """Rank 1 waits for rank 0 as all do, and then all wait for rank 1."""
    assert two_late(500_000) == {0: 2_000_000, 1: 500_000}


@pytest.mark.parametrize(
    ("late", "least", "steps", "mine", "found"),
    [
        (100_000, None, 4, 0, True),
        (99_999, None, 4, 0, False),  # below 1 % of the step
        (500_000, 99_999, 4, 0, False),  # another one is nearly as late
        (500_000, None, 3, 0, True),
        (500_000, None, 2, 0, False),  # of two steps some rank is the last in both
        (500_000, None, 4, 400_001, False),  # it waits for others elsewhere
        (500_000, None, 4, 400_000, True),
    ],
)  # fmt: skip
def test_the_second_one_is_late_by_what_all_wait_for_it(
    late: int, least: int | None, steps: int, mine: int, found: bool
) -> None:
    assert (1 in two_late(late, least=least, steps=steps, mine=mine)) is found


def test_in_a_pipeline_waiting_before_a_collective_counts() -> None:
    assert 1 not in two_late(500_000, pipe=(0, 1), place=0)


def test_noise_makes_no_rank_late_in_turn() -> None:
    """Six collectives a step, to each of which some rank comes last by chance."""
    draw, alarms = np.random.default_rng(9), 0
    for _ in range(200):
        ranks, steps = int(draw.integers(2, 9)), int(draw.integers(3, 7))
        own = draw.normal(0, 0.02 * STEP, (ranks, steps, 6))
        waits = (own.max(axis=0) - own).astype(int)
        last = own.argmax(axis=0)
        rows = [
            times(0, waits=mine.sum(axis=1).tolist(), awaited=tuple(
                (step, int(last[step, at]), int(mine[step, at])) for step in range(steps) for at in range(6)
            ))
            for mine in waits
        ]  # fmt: skip
        alarms += bool(named(*rows))
    assert alarms <= 4


def staged(pipe: int, place: int, held: int, bubble: int) -> RankTimes:
    """A rank of three pipelines of two stages, (0, 3), (1, 4) and (2, 5)."""
    return replace(
        times(held + bubble, held=held), pipe=(pipe, pipe + 3), place=place
    )  # fmt: skip


def test_what_a_rank_waits_for_another_stage_is_not_its_lateness() -> None:
    """Rank 4 comes last to the collectives of its stage, since it waits for rank 1 in its pipeline."""
    first = [staged(0, 0, 400_000, 0), staged(1, 0, 0, 0), staged(2, 0, 400_000, 0)]
    second = [staged(0, 1, 400_000, 700_000), staged(1, 1, 0, 1_100_000), staged(2, 1, 400_000, 700_000)]
    assert named(*first, *second) == {1: 400_000}


def test_stages_are_not_held_against_each_other() -> None:
    """All of the second stage hardly wait: they compute longer, which is uneven stages and no late rank."""
    assert named(*(staged(pipe, 0, 900_000, 0) for pipe in range(3)), *(staged(p, 1, 0, 0) for p in range(3))) == {}


def test_ranks_of_one_stage_are_alike_also_where_some_are_missing() -> None:
    ranks = {rank: staged(rank % 3, rank // 3, 0, 0) for rank in (0, 1, 4, 5)} | {9: times(0)}
    assert stages(ranks) == [(9,), (0, 1), (4, 5)]


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"compute_ns": 5_400_000, "idle_ns": 4_600_000}, "compute"),
        ({"compute_ns": 5_080_000, "idle_ns": 4_920_000}, "host"),
        ({"exposed_copy_ns": 300_000, "idle_ns": 4_700_000}, "copies"),
        ({"exposed_comm_ns": 300_000, "idle_ns": 4_700_000}, "link"),
        ({"step_ns": STEP - 300_000, "idle_ns": 4_700_000}, "start"),
    ],
)
def test_the_reason_is_the_largest_part_of_its_lateness(parts: dict[str, int], reason: str) -> None:
    usual = times(400_000)
    found = late_ranks({0: usual, 1: times(0, **parts), 2: usual})[1]
    assert found.reason == reason
    assert sum(found.parts.values()) == found.wait_ns == 400_000


def test_unknown_waits_or_a_job_not_under_way_name_nobody() -> None:
    assert late_ranks({0: None, 1: replace(times(0), waited_ns=None), 2: times(400_000)}) == {}
    assert named(*(replace(times(wait), under_way=False) for wait in (0, 400_000))) == {}
    assert late_ranks({}) == {}


def test_steps_that_ranks_do_not_have_in_common_are_compared_by_their_means() -> None:
    other = replace(times(0), waits=tuple((step + 100, 0) for step in range(4)))
    assert named(times(400_000), other) == {1: 400_000}


def test_waiting_that_compute_hides_pushes_what_queues_behind_it() -> None:
    """Two transfers of 100 in one queue beside compute until 300; the first waits 200 for a rank that comes late."""
    ts, dur, wait = np.array([100, 400]), np.array([300, 100]), np.array([200, 0])
    pushed = pushed_by(np.zeros(2, np.int64), ts, dur, wait, np.array([50, 100]))
    assert pushed.tolist() == [0, 200]
    compute = [Intervals.union_of([0], [300])]
    # The first would have ended beside compute at 200, and the second at 300.
    assert unhidden(compute, ts, dur, wait, pushed).tolist() == [100, 100]
    alone = pushed_by(np.arange(2), ts, dur, wait, np.array([50, 100]))
    assert unhidden(compute, ts, dur, wait, alone).tolist() == [100, 0]
    # It would not have started before it was launched.
    assert pushed_by(np.zeros(2, np.int64), ts, dur, wait, np.array([50, 390])).tolist() == [0, 10]
