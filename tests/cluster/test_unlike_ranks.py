"""Ranks that were not recorded alike: other profilers, other steps, fewer collectives, groups that are not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.cluster.job_support import calls, job, waiting

from stepscope.analyses.communication.given_groups import GivenGroup
from stepscope.analyses.communication.matching import STEP_KEYS, Matching
from stepscope.cluster.part import GroupPart
from stepscope.cluster.slow_ranks import slow_ranks
from stepscope.cluster.unlike import unknown_groups, unlike_steps
from stepscope.reports.ranks.job_lines import job_lines


def codes(parts):
    return {line.code: line for line in job_lines(parts)}


def by_order(rank, durations, steps):
    """All-reduces without sequence numbers, numbered by their order in each step."""
    made = calls(rank, durations, range(len(durations)))
    places = [steps[:at].count(step) + 1 for at, step in enumerate(steps)]
    made["step"] = np.array(steps)
    made["key"] = np.array([-place - (step + 1) * STEP_KEYS for place, step in zip(places, steps, strict=True)])
    return made


def test_ranks_recorded_alike_are_not_mentioned():
    parts = job([[5, 5]] * 3)
    parts.numbered = dict.fromkeys(range(3), frozenset({0, 1}))
    assert job_lines(parts) == []


@pytest.mark.parametrize(
    ("ranks", "size", "code", "said"),
    [
        ((0, 1, 4), 8, "ranks-missing", "has 8 at least, and 5 are not given"),
        ((0, 1, 4, 5), 0, "ranks-missing", "has 6 at least, and 3 are not given"),
        ((0, 1, 2, 3), 0, "ranks-missing", "has 4 at least, and 1 are not given: 3"),
        ((), 0, "ranks-unknown", "ranks 0 to 2 are at hand"),
    ],
)
def test_ranks_at_hand_that_need_not_be_all_are_said_to_be(ranks, size, code, said):
    """Where the number of ranks is not recorded, groups tell how many there are at least."""
    group = GroupPart("0", "", ranks, size or len(ranks), ("all_reduce",), 2, 0)
    parts = job([[5, 5]] * 3, groups={rank: [group] for rank in range(3)})
    assert job_lines(parts) == []  # recorded: whose recordings are missing is said when they are opened
    for rank, one in parts.recordings.items():
        parts.recordings[rank] = replace(one, world_size=None)
    assert said in codes(parts)[code].message
    for rank, one in parts.recordings.items():
        parts.recordings[rank] = replace(one, source="one file")
    assert job_lines(parts) == []


def test_profilers_that_differ_are_named_with_their_ranks():
    parts = job([[5]] * 3)
    parts.recordings[2] = replace(parts.recordings[2], reader="nsight")
    line = codes(parts)["profilers-differ"]
    assert (line.severity, line.count) == ("warning", 2)
    assert "torch.profiler (ranks 0, 1)" in line.message
    assert "Nsight Systems (rank 2)" in line.message


@pytest.mark.parametrize(
    ("steps", "severity", "common", "others"),
    [
        ([{1, 2}, {1, 2}, {2, 3}], "info", (2,), {2: (2, 3)}),
        ([{1, 2}, {5, 6}, {5, 6}], "warning", (), {0: (1, 2)}),
    ],
    ids=["some in common", "none in common"],
)
def test_ranks_recorded_at_other_steps_are_named(steps, severity, common, others):
    parts = job([[5, 5]] * 3)
    parts.numbered = dict(enumerate(map(frozenset, steps)))
    found = unlike_steps(parts)
    assert codes(parts)["steps-differ"].severity == severity
    assert found is not None
    assert (found.common, found.others) == (common, others)


def test_of_steps_without_recorded_numbers_nothing_is_said():
    parts = job([[5, 5]] * 3)
    parts.numbered = {0: frozenset({1, 2}), 1: frozenset(), 2: frozenset({1, 2})}
    assert unlike_steps(parts) is None


def test_a_rank_that_lacks_collectives_of_a_common_step_is_told():
    parts = job([[5, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5]])
    assert "collectives-uneven" not in codes(parts)  # of steps that are not numbered nothing is known
    parts.numbered = dict.fromkeys(range(3), frozenset({0, 1}))
    line = codes(parts)["collectives-uneven"]
    assert line.count == 1
    assert "1 of 4 all_reduce of group 0" in line.message


def test_calls_without_numbers_match_within_their_step():
    """Rank 1 was recorded one step later: its first calls are those of the other's second step."""
    matched = Matching()
    first, second = by_order(0, [9, 9, 7, 8], [1, 1, 2, 2]), by_order(1, [3, 4, 6, 6], [2, 2, 3, 3])
    for one in (first, second):
        matched.add(one)
    matched.settle()
    shortest, devices = matched.of(first)
    assert shortest.tolist() == [9, 9, 3, 4]
    assert devices.tolist() == [1, 1, 2, 2]


def test_waiting_is_left_out_of_steps_in_which_a_call_without_number_is_missing():
    """In step 2 rank 1 lacks one of two calls: which one, nothing tells."""
    matched = Matching()
    first, second = by_order(0, [9, 9, 9], [1, 2, 2]), by_order(1, [4, 4], [1, 2])
    for one in (first, second):
        matched.add(one)
    matched.settle()
    assert [found.tolist() for found in matched.of(first)] == [[4, 9, 9], [2, 1, 1]]
    assert [found.tolist() for found in matched.of(second)] == [[4, 4], [2, 1]]
    parts = job([[1]] * 2)
    parts.collectives = matched
    parts.times = {0: waiting(parts.times[0], parts, first), 1: waiting(parts.times[1], parts, second)}
    assert [row["caused_ns"] for row in slow_ranks(parts).records()] == [2, 0]  # 5 ns in two steps


def numbered(rank, sizes, keys):
    """All-reduces of some sizes with sequence numbers; rank 0 takes 9 ns for each, others 5."""
    made = calls(rank, [5 if rank else 9] * len(sizes), range(len(sizes)))
    return made | {"bytes": np.array(sizes), "key": np.array(keys)}


@pytest.mark.parametrize(
    ("one", "other", "shortest"),
    [
        (([-1, 8], [3, 4]), ([5, 8], [3, 4]), [5, 5]),
        (([64, 8], [3, 3]), ([8, 16], [3, 3]), [9, 5]),
    ],
    ids=["the number tells, whatever the size", "of one number the size tells"],
)
def test_sizes_count_where_the_number_alone_does_not_tell(one, other, shortest):
    """Of small collectives HCCL records no size on some ranks; calls that are made together have one number."""
    matched = Matching()
    first = numbered(0, *one)
    for made in (first, numbered(1, *other)):
        matched.add(made)
    assert matched.of(first)[0].tolist() == shortest
    assert max(next(known for _, known in matched.kinds()).bytes.tolist()) == max(*one[0], *other[0])


def test_stated_groups_that_are_not_there_are_told():
    parts = job([[5]] * 2)
    parts.given = (GivenGroup("data", (0, 1), ""), GivenGroup("tensor", (0,), "0"), GivenGroup("data", (), "0"))
    assert unknown_groups(parts) == []
    parts.given = (GivenGroup("tensor", (), "absent"), GivenGroup("tensor", (0, 2), ""))
    assert unknown_groups(parts) == ["group absent", "rank 2"]
    assert codes(parts)["groups-unknown"].count == 2
