"""Joining short neighbours, entry by entry."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.sizes import SIZES
from stepscope.native.merging import COLUMNS, merge
from stepscope.web.tiles.entries import TrackEntries

Entry = tuple[int, int, int, int, int, int, int]
#: By event: lane, start and duration.
EVENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 60), st.integers(0, 9)), max_size=40)


def entries(drawn: list[tuple[int, int, int]]) -> list[Entry]:
    return [(ts, ts + dur, dur, 1, i, dur, lane) for i, (lane, ts, dur) in enumerate(sorted(drawn))]


def slow(given: list[Entry], level: int) -> list[Entry]:
    """Entries of runs."""
    runs = list[list[Entry]]()
    for one in given:
        last = runs[-1][-1] if runs else None
        same = last is not None and one[6] == last[6] and one[0] >> level == last[0] >> level
        if last is not None and same and max(one[5], last[5]) < 1 << level:
            runs[-1].append(one)
        else:
            runs.append([one])
    found = list[Entry]()
    for run in runs:
        longest = max(run, key=lambda one: (one[5], -one[4]))
        sums = (sum(one[2] for one in run), sum(one[3] for one in run))
        found.append((run[0][0], max(one[1] for one in run), *sums, longest[4], longest[5], run[0][6]))
    return found


def columns(given: list[Entry]) -> list[np.ndarray]:
    return [np.array([one[i] for one in given], kind) for i, kind in enumerate(COLUMNS)]


def rows(found: list[np.ndarray]) -> list[Entry]:
    return list(zip(*(column.tolist() for column in found), strict=True))


@given(EVENTS, st.integers(0, 6))
def test_any_entries(drawn: list[tuple[int, int, int]], level: int) -> None:
    assert rows(merge(level, columns(entries(drawn)))) == slow(entries(drawn), level)


@given(EVENTS, st.integers(0, 6), st.integers(1, 7))
def test_in_parts_as_at_once(drawn: list[tuple[int, int, int]], level: int, most: int) -> None:
    with SIZES.changed(merged_entries=most):
        found = TrackEntries(*columns(entries(drawn))).merged(level)
    assert rows([found.start, found.end, found.busy, found.count, found.longest, found.longest_ns, found.lane]) == slow(
        entries(drawn), level
    )
