"""Level of detail: nothing is dropped, nothing counts twice, and busy time is exact."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.web.tiles.entries import TrackEntries, TrackEvents, lane_edges
from stepscope.web.tiles.lanes import fitted_lanes, nested_lanes
from stepscope.web.tiles.pyramid import Pyramid
from stepscope.web.tiles.saved import FOLDER, Saved

TILE_BITS = 4


def events(*spans: tuple[int, int]) -> TrackEvents:
    ts, dur = (np.array(column, np.int64) for column in zip(*spans, strict=True))
    number = np.arange(ts.size)
    return TrackEvents.of(ts, dur, fitted_lanes(ts, dur), id=number, name=number, kind=np.zeros(ts.size, np.uint8))


def alone(*spans: tuple[int, int]) -> TrackEntries:
    return TrackEntries.alone(events(*spans), 0, len(spans))


def rows(entries: TrackEntries) -> list[tuple[int, int, int, int, int]]:
    columns = (entries.lane, entries.start, entries.end, entries.busy, entries.count)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_short_neighbours_become_a_run_with_count_and_busy_time() -> None:
    entries = Pyramid.of(events((0, 2), (3, 1), (9, 1), (16, 20), (40, 1))).entries(0, 64, 4)
    assert rows(entries) == [(0, 0, 10, 4, 3), (0, 16, 36, 20, 1), (0, 40, 41, 1, 1)]
    assert entries.longest.tolist() == [0, 3, 4]


def test_an_event_as_long_as_a_bucket_stays_alone_and_one_just_shorter_does_not() -> None:
    assert rows(Pyramid.of(events((0, 8), (9, 1))).entries(0, 16, 3)) == [(0, 0, 8, 8, 1), (0, 9, 10, 1, 1)]
    assert rows(Pyramid.of(events((0, 7), (7, 1))).entries(0, 16, 3)) == [(0, 0, 8, 8, 2)]


def test_a_run_does_not_reach_across_a_long_event() -> None:
    found = Pyramid.of(events((0, 1), (1, 12), (13, 1), (15, 1))).entries(0, 16, 3)
    assert rows(found) == [(0, 0, 1, 1, 1), (0, 1, 13, 12, 1), (0, 13, 16, 2, 2)]


def test_an_instant_is_in_the_range_that_it_is_in() -> None:
    pyramid = Pyramid.of(events((16, 0)))
    assert len(pyramid.entries(0, 16, 4)) == 0
    assert rows(pyramid.entries(16, 32, 4)) == [(0, 16, 16, 0, 1)]


def test_what_begins_before_a_range_and_lasts_into_it_is_in_both() -> None:
    pyramid = Pyramid.of(events((3, 30), (40, 1)))
    assert rows(pyramid.entries(0, 16, 0)) == rows(pyramid.entries(16, 32, 0)) == [(0, 3, 33, 30, 1)]


def test_no_events_make_no_entries() -> None:
    none = np.zeros(0, np.int64)
    empty = TrackEvents.of(none, none, fitted_lanes(none, none), id=none, name=none, kind=none)
    assert len(Pyramid.of(empty).entries(0, 1024, 3)) == 0
    assert empty.lanes == 1


SPANS = st.lists(st.tuples(st.integers(-500, 500), st.one_of(st.integers(0, 5), st.integers(0, 400))), max_size=60)


@given(spans=SPANS.filter(bool), level=st.integers(0, 9))
def test_every_event_is_in_one_entry_and_busy_time_is_exact(spans: list[tuple[int, int]], level: int) -> None:
    track = events(*spans)
    pyramid = Pyramid.of(track)
    whole = rows(pyramid.entries(-1 << 20, 1 << 20, level))
    assert sum(row[4] for row in whole) == len(spans)
    assert sum(row[3] for row in whole) == sum(dur for _, dur in spans)
    width = level + TILE_BITS
    tiles = [
        rows(pyramid.entries(tile << width, (tile + 1) << width, level))
        for tile in range(-500 >> width, (1000 >> width) + 1)
    ]
    assert sorted({row for tile in tiles for row in tile}) == sorted(set(whole))
    begun = [
        row
        for number, tile in enumerate(tiles, -500 >> width)
        for row in tile
        if number << width <= row[1] < (number + 1) << width
    ]
    assert sorted(begun) == sorted(whole)


@given(spans=SPANS.filter(bool), finer=st.integers(0, 5), more=st.integers(0, 5))
def test_merging_level_by_level_is_merging_at_once(spans: list[tuple[int, int]], finer: int, more: int) -> None:
    single = alone(*spans)
    assert rows(single.merged(finer).merged(finer + more)) == rows(single.merged(finer + more))


@given(spans=SPANS.filter(bool))
def test_no_two_events_of_a_lane_overlap(spans: list[tuple[int, int]]) -> None:
    track = events(*spans)
    same = track.lane[1:] == track.lane[:-1]
    assert (track.ts[1:] >= (track.ts + track.dur)[:-1])[same].all()
    open_at = max(sum(ts <= at < ts + max(dur, 1) for ts, dur in spans) for at, _ in spans)
    assert track.lanes <= max(open_at, 1)


@pytest.mark.parametrize(
    ("member", "expected"),
    [([True] * 5, [0, 1, 2, 1, 0]), ([True, False, True, True, True], [0, 1, 1, 1, 0])],
)
def test_lanes_of_a_thread_count_the_members_around(member: list[bool], expected: list[int]) -> None:
    parent, depth = np.array([-1, 0, 1, 0, -1]), np.array([0, 1, 2, 1, 0])
    assert nested_lanes(parent, depth, np.array(member)).tolist() == expected


def test_a_stored_coarse_level_answers_like_the_events_themselves() -> None:
    spans = [(10 * number, 1 + number % 7) for number in range(4000)]
    pyramid = Pyramid.of(events(*spans))
    assert len(pyramid._levels) > 3
    for level in range(13):
        found = pyramid.entries(8 << 12, 9 << 12, level)
        assert rows(found) == [
            row for row in rows(alone(*spans).merged(level)) if row[1] < 9 << 12 and row[2] > 8 << 12
        ]


def test_a_track_from_a_file_answers_the_same(tmp_path: Path) -> None:
    made = Pyramid.of(events(*((10 * number, 1 + number % 7) for number in range(2000))))
    saved = Saved(tmp_path)
    assert saved.load("queue", 1) is None
    saved.save(made.to_arrays(), "queue", 1)
    found = saved.load("queue", 1)
    assert found is not None
    for level in (0, 3, 6, 9):
        read, held = Pyramid.from_arrays(found).entries(0, 4096, level), made.entries(0, 4096, level)
        assert (rows(read), read.longest.tolist()) == (rows(held), held.longest.tolist())


@pytest.mark.parametrize("size", [0, 10, 40, 100, 1000])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, size: int) -> None:
    saved = Saved(tmp_path)
    saved.save({"values": np.arange(1000)}, "key")
    [file] = (tmp_path / FOLDER).iterdir()
    file.write_bytes(file.read_bytes()[:size])
    assert saved.load("key") is None


def test_a_folder_that_does_not_exist_keeps_nothing(tmp_path: Path) -> None:
    saved = Saved(tmp_path / "missing")
    saved.save({"values": np.arange(3)}, "key")
    assert saved.load("key") is None
    assert Saved(None).load("key") is None


@pytest.mark.parametrize(
    ("lane", "lanes", "edges"), [([], 1, [0, 0]), ([0, 0, 2], 3, [0, 2, 2, 3]), ([65_535], 65_536, [0, 0, 1])]
)
def test_where_lanes_start(lane: list[int], lanes: int, edges: list[int]) -> None:
    """The last lane that the type has is found as well."""
    found = lane_edges(np.array(lane, np.uint16), lanes).tolist()
    assert (found if lanes < 4 else [found[0], *found[-2:]]) == edges
