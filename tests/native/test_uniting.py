"""Uniting intervals of groups, against the set that they cover."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.intervals import Intervals
from stepscope.native.uniting import unite

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(-3, 12)), max_size=30)


@given(st.lists(SPANS, max_size=4))
def test_any_intervals_of_any_groups(drawn: list[list[tuple[int, int]]]) -> None:
    rows = [(group, ts, ts + dur) for group, spans in enumerate(drawn) for ts, dur in sorted(spans)]
    group, starts, ends = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    expected = list[tuple[int, int, int]]()
    for number, spans in enumerate(drawn):
        united = Intervals.union_of([ts for ts, _ in spans], [ts + dur for ts, dur in spans])
        expected += [(number, *one) for one in zip(united.starts.tolist(), united.ends.tolist(), strict=True)]
    found = unite(group.astype(np.int32), starts, ends)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_what_is_given_stays_as_it_is() -> None:
    starts, ends = np.array([0, 5]), np.array([10, 15])
    assert [one.tolist() for one in unite(np.zeros(2, np.int32), starts, ends)] == [[0], [0], [15]]
    assert (starts.tolist(), ends.tolist()) == ([0, 5], [10, 15])
