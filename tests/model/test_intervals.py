"""Interval arithmetic against sets of instants, which are slow and obviously right."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.events.firsts import firsts
from stepscope.model.intervals import Intervals, ascending, ordered
from stepscope.model.partition import overlay, partition

RAW = st.lists(st.tuples(st.integers(-20, 40), st.integers(-20, 40)), max_size=12)


def make(raw: list[tuple[int, int]]) -> Intervals:
    return Intervals.union_of([a for a, _ in raw], [b for _, b in raw])


def instants(raw: list[tuple[int, int]]) -> set[int]:
    return {t for a, b in raw for t in range(a, b)}


def members(x: Intervals) -> set[int]:
    assert (x.starts < x.ends).all()
    assert (x.ends[:-1] < x.starts[1:]).all(), "intervals are maximal and ascending"
    assert x.starts.dtype == x.ends.dtype == np.int64
    return {t for a, b in zip(x.starts, x.ends, strict=True) for t in range(a, b)}


@given(RAW)
def test_union_total_and_membership(raw: list[tuple[int, int]]) -> None:
    x, want = make(raw), instants(raw)
    assert members(x) == want
    assert x.total == len(want)
    assert {int(t) for t in np.arange(-25, 45)[x.at(np.arange(-25, 45))]} == want


@given(RAW, RAW)
def test_operators(raw_a: list[tuple[int, int]], raw_b: list[tuple[int, int]]) -> None:
    a, b, in_a, in_b = make(raw_a), make(raw_b), instants(raw_a), instants(raw_b)
    assert members(a | b) == in_a | in_b
    assert members(a & b) == in_a & in_b
    assert members(a - b) == in_a - in_b
    assert (a | b) == (b | a)


@given(RAW, st.integers(-25, 45), st.integers(-25, 45))
def test_clip_and_complement(raw: list[tuple[int, int]], lo: int, hi: int) -> None:
    x, window = make(raw), set(range(lo, hi))
    assert members(x.clip(lo, hi)) == instants(raw) & window
    assert members(x.complement(lo, hi)) == window - instants(raw)


@given(RAW, RAW)
def test_coverage_of_overlapping_windows(raw: list[tuple[int, int]], windows: list[tuple[int, int]]) -> None:
    got = make(raw).within([a for a, _ in windows], [b for _, b in windows])
    assert got.tolist() == [len(instants(raw) & set(range(a, b))) for a, b in windows]


@given(st.lists(RAW, max_size=4), st.integers(-25, 45), st.integers(-25, 45))
def test_partition_gives_each_instant_to_the_first_layer(raws: list[list[tuple[int, int]]], lo: int, hi: int) -> None:
    starts, ends, labels = partition([make(raw) for raw in raws], lo, hi)
    got = {t: k for a, b, k in zip(starts, ends, labels, strict=True) for t in range(a, b)}
    covers = [instants(raw) for raw in raws]
    assert got == {t: next((i for i, c in enumerate(covers) if t in c), len(raws)) for t in range(lo, hi)}
    assert (ends - starts).sum() == max(hi - lo, 0)
    assert (starts[1:] == ends[:-1]).all()
    assert (labels[1:] != labels[:-1]).all()


@given(RAW, RAW)
def test_overlay_finds_every_intersection(raw: list[tuple[int, int]], tiles: list[tuple[int, int]]) -> None:
    cut = make(tiles)
    starts = np.array([a for a, _ in raw], np.int64)
    ends = np.array([b for _, b in raw], np.int64)
    got = list(zip(*(x.tolist() for x in overlay(starts, ends, cut.starts, cut.ends)), strict=True))
    intervals = list(zip(cut.starts.tolist(), cut.ends.tolist(), strict=True))
    pairs = [(max(a, c), min(b, d), i, j) for i, (a, b) in enumerate(raw) for j, (c, d) in enumerate(intervals)]
    assert got == [pair for pair in pairs if pair[0] < pair[1]]


def test_nothing_is_still_a_set() -> None:
    none = Intervals.empty()
    assert none.total == 0
    assert len(none | none) == len(none & none) == len(none - none) == len(none.clip(0, 9)) == 0
    assert none.at([1, 2]).tolist() == [False, False]
    assert none.within([0], [5]).tolist() == [0]
    assert none.complement(2, 5) == make([(2, 5)])
    assert [x.tolist() for x in partition([], 2, 5)] == [[2], [5], [0]]


def test_unix_nanoseconds_stay_exact() -> None:
    now = 1_700_000_000_123_456_789
    x = make([(now, now + 1), (now + 1, now + 3), (now + 5, now + 6)])
    assert x.starts.tolist() == [now, now + 5]
    assert x.total == 4
    assert x.within([now + 2], [now + 6]).tolist() == [2]


def test_equality_needs_a_set() -> None:
    assert make([(0, 1)]) != "intervals"
    assert make([(0, 1)]) != make([(0, 2)])


NUMBERS = st.integers(-3, 3) | st.integers(-(2**62), 2**62)


@given(st.lists(NUMBERS, max_size=12))
def test_ascending_is_stable(drawn: list[int]) -> None:
    assert ascending(np.array(drawn, np.int64)).tolist() == sorted(range(len(drawn)), key=drawn.__getitem__)


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 2), st.booleans()), max_size=12))
def test_order_by_several_keys(drawn: list[tuple[int, int, bool]]) -> None:
    keys = [np.array([one[i] for one in drawn], kind) for i, kind in enumerate((np.int64, np.int64, np.bool_))]
    assert ordered(*keys).tolist() == sorted(range(len(drawn)), key=drawn.__getitem__)


@given(st.lists(st.one_of(st.integers(-3, 3), st.integers(-(1 << 40), 1 << 40)), max_size=20), st.booleans())
def test_the_first_of_each_value(values: list[int], in_order: bool) -> None:
    values = sorted(values) if in_order else values
    found = firsts(np.array(values, np.int64)).tolist()
    assert found == [values.index(one) for one in sorted(set(values))]
