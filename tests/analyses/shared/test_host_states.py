"""What the host did at every instant, whatever part of the time is asked for, on any number of threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analyses.shared.host_states import (
    DATA,
    GC,
    OP,
    OTHER,
    OVERHEAD,
    PYTHON,
    RUNTIME,
    SILENT,
    SYNC,
    HostStates,
)
from stepscope.analyses.shared.thread_states import StateTimes
from stepscope.model.intervals import Intervals

Call = tuple[int, int, int, int]

THREADS = (7, 3, 5)
#: Thread, state, start and duration.
CALLS = st.lists(
    st.tuples(
        st.sampled_from(THREADS), st.sampled_from((SYNC, GC, DATA, RUNTIME, OP)), st.integers(0, 40), st.integers(1, 8)
    ),
    max_size=12,
)
SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 4)), max_size=2)
#: Thread, start and duration of what is asked for; 9 is no feeder.
ASKED = st.lists(st.tuples(st.sampled_from((*THREADS, 9)), st.integers(-5, 50), st.integers(0, 30)), max_size=4)


def times(calls: list[Call]) -> StateTimes:
    track, state, start, dur = np.array(calls, np.int64).reshape(-1, 4).T
    return StateTimes(track, state.astype(np.int8), start, start + dur).united()


def expected(calls: list[Call], delays: list[tuple[int, int]], feeders: tuple[int, ...], thread: int, at: int) -> int:
    """The state of a thread within [at, at + 1), looked up call by call."""

    def doing(tracks: tuple[int, ...], at: int = at) -> set[int]:
        found = {state for track, state, ts, dur in calls if track in tracks and ts <= at < ts + dur}
        return found | {OVERHEAD for ts, dur in delays if ts <= at < ts + dur}

    known = doing((thread,)) or doing(feeders)
    if known:
        return min(known)
    # Nobody calls anything: who called just before and calls just after?
    edges = [(ts, ts + dur) for *_, ts, dur in calls] + [(ts, ts + dur) for ts, dur in delays]
    before = max((end for _, end in edges if end <= at), default=None)
    after = min((start for start, _ in edges if start > at), default=None)
    if before is not None and after is not None:
        for one in feeders[1:]:
            if doing((one,), before - 1) and doing((one,), after):
                return OP
    return PYTHON if 3 <= at < 45 else SILENT


@given(CALLS, SPANS, ASKED, st.integers(1, 3))
def test_each_instant_has_the_state_that_its_calls_give(
    calls: list[Call], delays: list[tuple[int, int]], asked: list[tuple[int, int, int]], number: int
) -> None:
    feeders = THREADS[:number]
    calls = [call for call in calls if call[0] in feeders]
    overhead = Intervals.union_of([ts for ts, _ in delays], [ts + dur for ts, dur in delays])
    hosts = HostStates(feeders, times(calls), overhead, Intervals.union_of([3], [45]), True)
    threads, starts, lengths = (
        np.array(column, np.int64) for column in (zip(*asked, strict=True) if asked else ((), (), ()))
    )
    found = hosts.cut(threads, starts, starts + lengths)
    parts = list(
        zip(found.interval.tolist(), found.starts.tolist(), found.ends.tolist(), found.state.tolist(), strict=True)
    )
    for position, (thread, start, length) in enumerate(asked):
        mine = [(lo, hi, state) for interval, lo, hi, state in parts if interval == position]
        assert [lo for lo, *_ in mine] == [start, *(hi for _, hi, _ in mine)][: len(mine)]
        assert sum(hi - lo for lo, hi, _ in mine) == length
        main = thread if thread in feeders else feeders[0]
        for lo, hi, state in mine:
            assert {expected(calls, delays, feeders, main, at) for at in range(lo, hi)} == {state}
    assert parts == sorted(parts)


@given(CALLS)
def test_united_times_are_the_unions_of_each_thread_and_state(calls: list[Call]) -> None:
    found = times(calls)
    rows = list(
        zip(found.track.tolist(), found.state.tolist(), found.starts.tolist(), found.ends.tolist(), strict=True)
    )
    assert rows == sorted(rows)
    for track, state in {(track, state) for track, state, *_ in calls}:
        own = [(ts, ts + dur) for one, other, ts, dur in calls if (one, other) == (track, state)]
        union = Intervals.union_of(*zip(*own, strict=True))
        assert [row[2:] for row in rows if row[:2] == (track, state)] == list(
            zip(union.starts.tolist(), union.ends.tolist(), strict=True)
        )


def test_neighbouring_parts_of_one_layer_are_one() -> None:
    # Overhead counts as one stretch, whatever else the thread does meanwhile.
    hosts = HostStates((1,), times([(1, OP, 2, 3)]), Intervals.union_of([0], [9]), Intervals.union_of([0], [9]), True)
    found = hosts.cut(np.array([1]), np.array([1]), np.array([8]))
    assert (found.starts.tolist(), found.ends.tolist(), found.state.tolist()) == ([1], [8], [OVERHEAD])


def test_time_of_no_known_language_is_other() -> None:
    calls = times([(1, OP, 0, 5), (1, OP, 9, 1)])
    found = HostStates((1,), calls, Intervals.empty(), Intervals.union_of([0], [10]), False)
    parts = found.cut(np.array([1]), np.array([2]), np.array([12]))
    assert list(zip(parts.starts.tolist(), parts.ends.tolist(), parts.state.tolist(), strict=True)) == [
        (2, 5, OP),
        (5, 9, OTHER),
        (9, 10, OP),
        (10, 12, SILENT),
    ]


def test_thousands_of_threads_cost_what_their_calls_do() -> None:
    """Nothing is looked at thread by thread but the calls of that thread: the parts of 2,000 threads are few."""
    feeders = tuple(range(2000))
    calls = times([(one, OP, 10 * one, 5) for one in feeders])
    hosts = HostStates(feeders, calls, Intervals.empty(), Intervals.union_of([0], [20_000]), True)
    assert hosts._layers.heads.size == 3 * len(feeders)
    starts = 10 * np.arange(2000)
    found = hosts.cut(np.arange(2000), starts, starts + 10)
    assert found.state.tolist() == [OP, PYTHON] * 2000
    assert all(one <= other for one, other in pairwise(found.interval.tolist()))
