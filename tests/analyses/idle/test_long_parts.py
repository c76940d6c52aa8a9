"""Which parts of idle time are charged to what, instant by instant."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analyses.idle import causes
from stepscope.analyses.idle.attribution import IdleParts
from stepscope.analyses.idle.long_parts import long_parts
from stepscope.model.intervals import Intervals

SPANS = st.lists(st.tuples(st.integers(-5, 60), st.integers(1, 20)), max_size=3)
#: The time before each part, its length and its cause.
PARTS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 25), st.integers(0, len(causes.CAUSES) - 1)), max_size=8)


def intervals(drawn: list[tuple[int, int]]) -> Intervals:
    return Intervals.union_of([start for start, _ in drawn], [start + length for start, length in drawn])


def charged(cause: int, unseen: bool, work: bool, first: bool) -> int:
    at_work = cause in (causes.OP, causes.PYTHON, causes.OTHER, causes.REFILL)
    if unseen:
        return causes.UNSEEN if cause in (causes.BLOCKED, causes.CALL, causes.QUEUED) else cause
    if work:
        return causes.WORK if at_work else cause
    return causes.FIRST if first and (at_work or cause == causes.CALL) else cause


@given(PARTS, SPANS, SPANS, SPANS, st.randoms(use_true_random=False))
def test_long_parts_are_cut_out(
    drawn: list[tuple[int, int, int]],
    work: list[tuple[int, int]],
    unseen: list[tuple[int, int]],
    first: list[tuple[int, int]],
    random: Random,
) -> None:
    rows, end = list[tuple[int, int, int, int]](), -5
    for number, (before, length, cause) in enumerate(drawn):
        rows.append((end + before, end + before + length, number, cause))
        end += before + length
    random.shuffle(rows)
    parts = IdleParts(*(np.array([row[at] for row in rows], np.int64) for at in range(4)))
    sets = [intervals(one) for one in (work, unseen, first)]
    found = long_parts(parts, *sets)
    expected = []
    for start, stop, gap, cause in rows:
        for at in range(start, stop):
            its, waits, begun = (bool(one.at([at])[0]) for one in sets)
            expected.append((at, gap, charged(cause, waits, its, begun)))
    columns = (column.tolist() for column in (found.starts, found.ends, found.gap, found.cause))
    assert [
        (at, gap, cause) for start, stop, gap, cause in zip(*columns, strict=True) for at in range(start, stop)
    ] == expected
