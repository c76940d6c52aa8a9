"""Nesting against a plain stack over Python's integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.native.nesting import nest

TIMES = st.integers(0, 30) | st.integers(-(2**62), 2**62 - 1)
SPANS = st.lists(st.tuples(TIMES, st.integers(0, 12) | st.integers(0, 2**62)), max_size=40)


def slow(spans: list[tuple[int, int]]) -> tuple[list[int], list[int], list[int]]:
    """Depths, parents and clipped ends."""
    ends = [end for _, end in spans]
    depths, parents, stack = [], [], []
    for i, (start, end) in enumerate(spans):
        while stack and (ends[stack[-1]] < start or (ends[stack[-1]] == start and end > start)):
            stack.pop()
        while stack and spans[stack[-1]][0] < start and ends[stack[-1]] - start < end - ends[stack[-1]]:
            ends[stack.pop()] = start
        depths.append(len(stack))
        parents.append(stack[-1] if stack else -1)
        if stack:
            ends[i] = min(end, ends[stack[-1]])
        stack.append(i)
    return depths, parents, ends


@given(SPANS)
def test_any_intervals(drawn: list[tuple[int, int]]) -> None:
    spans = sorted(((start, min(start + dur, 2**62)) for start, dur in drawn), key=lambda span: (span[0], -span[1]))
    ts, end = (np.array([span[i] for span in spans], np.int64) for i in (0, 1))
    assert tuple(column.tolist() for column in nest(np.zeros(ts.size, np.int32), ts, end)) == slow(spans)


@given(st.lists(SPANS, max_size=4))
def test_threads_nest_apart(drawn: list[list[tuple[int, int]]]) -> None:
    threads = [
        sorted(((ts, min(ts + dur, 2**62)) for ts, dur in one), key=lambda one: (one[0], -one[1])) for one in drawn
    ]
    depths, parents, ends = [], [], []
    for one in threads:
        depth, parent, end = slow(one)
        parents += [at + len(depths) if at >= 0 else -1 for at in parent]
        depths += depth
        ends += end
    lane = np.repeat(np.arange(len(threads), dtype=np.int32), [len(one) for one in threads])
    ts, end = (np.array([span[i] for one in threads for span in one], np.int64) for i in (0, 1))
    assert tuple(column.tolist() for column in nest(lane, ts, end)) == (depths, parents, ends)


def test_what_is_given_stays_as_it_is() -> None:
    ts, end = np.array([0, 5]), np.array([10, 15])
    assert nest(np.zeros(2, np.int32), ts, end)[2].tolist() == [10, 10]
    assert end.tolist() == [10, 15]


def test_every_event_inside_the_one_before() -> None:
    levels = 300_000
    ts = np.arange(levels)
    depth, parent, end = nest(np.zeros(levels, np.int32), ts, 2 * levels - ts)
    assert depth.tolist() == list(range(levels))
    assert parent.tolist() == list(range(-1, levels - 1))
    assert end.tolist() == (2 * levels - ts).tolist()
