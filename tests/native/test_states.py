"""Events as the times of groups, against the sets of instants that they cover."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.intervals import Intervals
from stepscope.native.states import CLASSES, EventColumns, StateTables, states

CATEGORIES, WIDTH, EVERYWHERE = 3, 4, 2
#: Category, start, duration, name and track, of which the tables know some.
EVENTS = st.lists(
    st.tuples(
        st.integers(-1, CATEGORIES - 1),
        st.integers(-20, 20),
        st.integers(-2, 9),
        st.integers(-1, 4),
        st.integers(-1, 4),
    ),
    max_size=40,
)
KINDS = st.lists(st.integers(-1, WIDTH - 1), min_size=CATEGORIES * CLASSES, max_size=CATEGORIES * CLASSES)
CLASSES_OF = st.lists(st.integers(0, CLASSES - 1), max_size=4)
#: Tracks 0 and 2 are the two threads.
PLACES = (1, -1, 0)


@given(EVENTS, KINDS, CLASSES_OF, st.integers(1, 50), st.booleans())
def test_any_events_with_any_tables(
    drawn: list[tuple[int, int, int, int, int]], kinds: list[int], classes: list[int], size: int, in_order: bool
) -> None:
    drawn = sorted(drawn, key=lambda one: one[1]) if in_order else drawn
    expected = dict[int, list[tuple[int, int]]]()
    for category, ts, dur, name, track in drawn:
        if category < 0 or dur <= 0:
            continue
        kind = kinds[category * CLASSES + (classes[name] if 0 <= name < len(classes) else 0)]
        place = PLACES[track] if 0 <= track < len(PLACES) else -1
        if kind == EVERYWHERE:
            expected.setdefault(2 * WIDTH, []).append((ts, ts + dur))
        elif kind >= 0 and place >= 0:
            expected.setdefault(place * WIDTH + kind, []).append((ts, ts + dur))
    back = {one for one, its in expected.items() if its != sorted(its, key=lambda span: span[0])}

    tables = StateTables(
        np.array(kinds, np.int8).reshape(CATEGORIES, CLASSES),
        np.array(classes, np.uint8),
        np.array(PLACES, np.int32),
        2,
        WIDTH,
        EVERYWHERE,
    )
    types = (np.int8, np.int64, np.int64, np.int32, np.int32)
    columns = [np.array([one[at] for one in drawn], kind) for at, kind in enumerate(types)]
    parts, unsorted = states(tables, EventColumns(*columns), size)
    assert len(parts) == unsorted.size == 2 * WIDTH + 1
    assert set(np.flatnonzero(unsorted).tolist()) <= back
    assert {one for one, its in enumerate(parts) if its} == set(expected)
    for one, its in expected.items():
        starts, ends = map(np.concatenate, zip(*parts[one], strict=True))
        united = Intervals.union_of(*zip(*its, strict=True))
        assert Intervals.union_of(starts, ends) == united
        if not unsorted[one]:
            assert (starts.tolist(), ends.tolist()) == (united.starts.tolist(), united.ends.tolist())
