"""Threads with many events are nested part by part."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from series import rounds
from stepscope.ingest.derive.host.batches import host_stretches
from stepscope.ingest.derive.overview import Overview
from stepscope.model.events.nesting import nest
from stepscope.model.events.stretches import Stretch, stretches
from stepscope.store.staging import Staging


def _staging(folder: Path, threads: dict[int, list[tuple[int, int | None]]]) -> Staging:
    """Starts and durations of the events of host threads."""
    staging = Staging(folder)
    event = 0
    for track, events in threads.items():
        staging.connection.execute("INSERT INTO tracks BY NAME SELECT ? AS track, 'host' AS kind", [track])
        for ts, dur in events:
            staging.connection.execute(
                "INSERT INTO raw_events VALUES (?, ?, ?, ?, 0, 'op', NULL, NULL)", [event, ts, dur, track]
            )
            event += 1
    return staging


def test_small_threads_go_together(tmp_path: Path) -> None:
    staging = _staging(tmp_path, {0: [(0, 5)], 1: [(0, 5), (6, 2)], 2: [(1, 1), (3, 1)]})
    assert list(host_stretches(staging, Overview.read(staging), 3)) == [Stretch((0, 1)), Stretch((2,))]


def test_a_large_thread_is_cut_where_nothing_is_open(tmp_path: Path) -> None:
    calls = [(0, 8), (2, 2), (8, 0), (10, 5), (11, None), (20, 5), (21, 1), (30, 5), (40, 1)]
    staging = _staging(tmp_path, {0: [(0, 5)], 1: calls})
    # What has no duration, at 8, belongs to what ends there.
    assert list(host_stretches(staging, Overview.read(staging), 2)) == [
        Stretch((0,)),
        Stretch((1,), None, 10),
        Stretch((1,), 10, 20),
        Stretch((1,), 20, 30),
        Stretch((1,), 30, None),
    ]


def test_a_thread_is_cut_between_steps_that_follow_each_other(tmp_path: Path) -> None:
    steps = [(0, 10), (1, 2), (4, 2), (10, 10), (11, 2), (14, 2), (20, 10), (21, 2), (24, 6)]
    staging = _staging(tmp_path, {1: steps})
    assert list(host_stretches(staging, Overview.read(staging), 3)) == [
        Stretch((1,), None, 10),
        Stretch((1,), 10, 20),
        Stretch((1,), 20, None),
    ]


def test_a_thread_in_one_call_stays_whole(tmp_path: Path) -> None:
    staging = _staging(tmp_path, {0: [(0, 100), *((i, 1) for i in range(1, 99, 2))]})
    assert list(host_stretches(staging, Overview.read(staging), 5)) == [Stretch((0,), None, None)]


def test_the_parts_hold_every_event_once(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    starts = np.sort(random.integers(0, 1000, 200)).tolist()
    staging = _staging(tmp_path, {7: [(ts, int(random.integers(0, 6))) for ts in starts]})
    parts = list(host_stretches(staging, Overview.read(staging), 20))
    counts = [staging.one(f"SELECT count(*) FROM raw_events WHERE {part.condition}")[0] for part in parts]
    assert sum(counts) == len(starts)
    assert len(parts) > 5


@settings(max_examples=rounds(200, 40), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), min_size=1, max_size=60),
    st.lists(st.integers(0, 46), max_size=10),
    st.lists(st.integers(0, 46), max_size=10),
    st.integers(1, 10),
)
def test_parts_nest_as_the_whole_does(
    calls: list[tuple[int, int]], points: list[int], steps: list[int], events: int
) -> None:
    edges = sorted({0, *steps, 46})
    spans = [(start, end) for start, end in pairwise(edges)] + [(ts, ts + dur) for ts, dur in calls]
    staged = np.array(spans, np.int64)
    parts = list(stretches([(0, len(staged))], lambda _: (staged[:, 0].copy(), staged[:, 1].copy()), events))
    every = np.concatenate([staged, np.array([(ts, ts) for ts in points], np.int64).reshape(-1, 2)])
    whole = nest(every[:, 0], every[:, 1])
    for part in parts:
        inside = np.flatnonzero(
            (every[:, 0] >= (-1 if part.start is None else part.start))
            & (every[:, 0] < (99 if part.stop is None else part.stop))
        )
        found = nest(every[inside, 0], every[inside, 1])
        np.testing.assert_array_equal(found.depth, whole.depth[inside])
        np.testing.assert_array_equal(np.where(found.parent < 0, -1, inside[found.parent]), whole.parent[inside])
        np.testing.assert_array_equal(found.end, whole.end[inside])
