"""Runs of events of one level, and how many all levels have, against merging entry by entry."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.native.merging import merge
from stepscope.native.runs import count_runs, runs

LARGEST = (1 << 62) - 1
#: Lane, start and duration.
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.one_of(st.integers(-300, 300), st.integers(-LARGEST, LARGEST)),
        st.one_of(st.integers(0, 5), st.integers(0, 400), st.integers(0, LARGEST)),
    ),
    max_size=50,
)


@given(EVENTS, st.integers(1, 60))
def test_any_events_at_every_level(drawn: list[tuple[int, int, int]], size: int) -> None:
    drawn = sorted(drawn)
    lane = np.array([one[0] for one in drawn], np.uint16)
    ts, dur = (np.array([one[at] for one in drawn], np.int64) for at in (1, 2))
    numbers, reach = count_runs(ts, dur, lane, size)
    assert reach.tolist() == [
        max(ts + dur for its, ts, dur in drawn[: at + 1] if its == one[0]) for at, one in enumerate(drawn)
    ]
    alone = (ts, ts + dur, dur, np.ones(ts.size), np.arange(ts.size), dur, lane)
    for level in (0, 1, 2, 3, 5, 8, 9, 20, 44, 61, 62):
        expected = merge(level, alone)
        assert numbers[level] == expected[0].size
        found = runs(level, ts, dur, lane, int(numbers[level]), size)
        assert [(one.dtype, one.tolist()) for one in found] == [(one.dtype, one.tolist()) for one in expected]
