"""Nesting against a plain stack over objects."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.events.nesting import Nesting, nest
from stepscope.model.events.tree import nearest, self_time

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)).map(lambda s: (s[0], s[0] + s[1])), max_size=25)


@st.composite
def proper_tree(draw: st.DrawFn, lo: int = 0, hi: int = 40, levels: int = 4) -> list[tuple[int, int]]:
    """Spans that nest properly: children of [lo, hi) cut it at sorted points."""
    cuts = sorted(draw(st.lists(st.integers(lo, hi), max_size=6)))
    spans: list[tuple[int, int]] = []
    for a, b in zip(cuts[::2], cuts[1::2], strict=False):
        spans.append((a, b))
        if levels and b - a > 1:
            spans += draw(proper_tree(a, b, levels - 1))
    return spans


def arrays(spans: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in spans], np.int64), np.array([b for _, b in spans], np.int64)


def run(spans: list[tuple[int, int]]) -> Nesting:
    return nest(*arrays(spans))


def slow(spans: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(depth, parent, clipped end) of each span, by the rules of `nest` taken one at a time."""
    out: list[tuple[int, int, int]] = [(0, -1, 0)] * len(spans)
    stack: list[int] = []
    for i in sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1], i)):
        start, end = spans[i]
        while stack:
            top = out[stack[-1]][2]
            if top > start or (top == start and start == end):
                break
            stack.pop()
        while stack and spans[stack[-1]][0] < start and out[stack[-1]][2] - start < end - out[stack[-1]][2]:
            elder = stack.pop()
            out[elder] = (*out[elder][:2], start)
        parent = stack[-1] if stack else -1
        out[i] = (len(stack), parent, min(end, out[parent][2]) if stack else end)
        stack.append(i)
    return out


def check(spans: list[tuple[int, int]]) -> Nesting:
    got, want = run(spans), slow(spans)
    assert list(zip(got.depth.tolist(), got.parent.tolist(), got.end.tolist(), strict=True)) == want
    assert got.clipped == sum(end != w[2] for (_, end), w in zip(spans, want, strict=True))
    return got


@given(SPANS)
def test_any_spans(spans: list[tuple[int, int]]) -> None:
    check(spans)


@given(proper_tree().flatmap(st.permutations))
def test_proper_trees_in_any_order(spans: list[tuple[int, int]]) -> None:
    assert check(spans).clipped == 0


@given(st.lists(SPANS, max_size=4))
def test_only_the_broken_group_is_repaired(groups: list[list[tuple[int, int]]]) -> None:
    check([(a + 1000 * k, b + 1000 * k) for k, group in enumerate(groups) for a, b in group])


@given(SPANS, st.data())
def test_nearest_flagged_ancestor(spans: list[tuple[int, int]], data: st.DataObject) -> None:
    n = run(spans)
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans))), bool)
    want = []
    for i in range(len(spans)):
        while i >= 0 and not flags[i]:
            i = int(n.parent[i])
        want.append(i)
    assert nearest(flags, n.depth, n.parent).tolist() == want


@given(SPANS)
def test_self_times_add_up_to_the_roots(spans: list[tuple[int, int]]) -> None:
    n = run(spans)
    dur = n.end - arrays(spans)[0]
    own = self_time(dur, n.parent)
    assert (own >= 0).all()
    assert own.sum() == dur[n.parent < 0].sum()


def test_child_that_outlives_its_parent_is_clipped() -> None:
    n = run([(0, 10), (5, 15), (12, 14)])
    assert n.parent.tolist() == [-1, 0, -1]
    assert n.end.tolist() == [10, 10, 14]
    assert n.clipped == 1


def test_closed_by_its_parent_an_event_does_not_catch_later_ones() -> None:
    n = run([(0, 100), (1, 10), (5, 15), (6, 13), (12, 20)])
    assert n.parent.tolist() == [-1, 0, 1, 2, 0]
    assert n.end.tolist() == [100, 10, 10, 10, 20]
    assert n.clipped == 2


def test_equal_spans_nest_in_the_order_given() -> None:
    n = run([(0, 5), (0, 5), (0, 5)])
    assert n.parent.tolist() == [-1, 0, 1]
    assert n.depth.tolist() == [0, 1, 2]


def test_event_without_duration_on_a_boundary() -> None:
    assert run([(0, 10), (0, 0), (10, 10)]).parent.tolist() == [-1, 0, 0]
    assert run([(10, 10), (0, 10), (10, 20)]).parent.tolist() == [2, -1, -1]


def test_end_before_start_is_no_duration() -> None:
    n = run([(0, 10), (5, 3)])
    assert n.parent.tolist() == [-1, 0]
    assert n.end.tolist() == [10, 5]


def test_no_events() -> None:
    n = run([])
    assert n.depth.size == n.parent.size == n.clipped == 0
    assert nearest(np.zeros(0, bool), n.depth, n.parent).size == 0
    assert self_time(n.end, n.parent).size == 0


def test_thousands_of_levels() -> None:
    k = 40_000
    n = nest(np.arange(k), 2 * k - np.arange(k))
    assert n.depth[-1] == k - 1
    flags = np.zeros(k, bool)
    flags[0] = True
    assert (nearest(flags, n.depth, n.parent) == 0).all()
