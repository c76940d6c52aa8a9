"""Cutting intervals along tiles, instant by instant."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.native.cutting import Layers, cut

FIRST = np.iinfo(np.int64).min
DELAYED, NUMBER = 1, 4
TILES = st.lists(st.tuples(st.integers(-10, 30), st.integers(-1, NUMBER - 1)), max_size=12)
#: Starts and lengths with the time before them.
DELAYS = st.lists(st.tuples(st.integers(1, 8), st.integers(1, 6)), max_size=4)
#: Lane, start and length, in any order.
ASKED = st.lists(st.tuples(st.integers(0, 2), st.integers(-12, 34), st.integers(-1, 30)), max_size=8)

Tiles = list[tuple[int, int]]


def tiled(drawn: Tiles, *, least: int) -> Tiles:
    """Tiles of all time, of states from the least on."""
    return [(FIRST, least), *((start, max(state, least)) for start, state in sorted(dict(drawn).items()))]


def state_at(tiles: Tiles, at: int) -> int:
    return [state for start, state in tiles if start <= at][-1]


@given(st.lists(TILES, min_size=3, max_size=3), TILES, DELAYS, ASKED)
def test_any_intervals(drawn: list[Tiles], together: Tiles, gaps: Tiles, asked: list[tuple[int, int, int]]) -> None:
    lanes, all_lanes = [tiled(one, least=-1) for one in drawn], tiled(together, least=0)
    delays, end = list[tuple[int, int]](), -10
    for before, length in gaps:
        delays.append((end + before, end + before + length))
        end += before + length

    def expected(lane: int, at: int) -> int:
        own = state_at(lanes[lane], at)
        if 0 <= own <= DELAYED:
            return own
        if any(since <= at < until for since, until in delays):
            return DELAYED
        return own if own >= 0 else NUMBER + state_at(all_lanes, at)

    def column(tiles: Tiles, at: int, kind: type[np.int64 | np.int8]) -> NDArray[Any]:
        return np.array([tile[at] for tile in tiles], kind)

    tiles = [tile for lane in lanes for tile in lane]
    layers = Layers(
        np.cumsum([len(lane) for lane in lanes]).astype(np.int32),
        column(tiles, 0, np.int64), column(tiles, 1, np.int8),
        column(delays, 0, np.int64), column(delays, 1, np.int64), DELAYED,
        column(all_lanes, 0, np.int64), column(all_lanes, 1, np.int8), NUMBER,
    )  # fmt: skip
    chosen, starts, lengths = (np.array([one[at] for one in asked], np.int64) for at in range(3))
    found = cut(layers, chosen.astype(np.int32), starts, starts + lengths)
    rows = list(zip(*(column.tolist() for column in found), strict=True))
    for number, (its, low, lasts) in enumerate(asked):
        mine = [row for row in rows if row[2] == number]
        assert [state for lo, hi, _, state in mine for _ in range(lo, hi)] == [
            expected(its, at) for at in range(low, low + lasts)
        ]
        assert [row[0] for row in mine] == [low, *(row[1] for row in mine)][: len(mine)]
        assert all(one[3] != other[3] for one, other in pairwise(mine))
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)
