"""What lanes do together, instant by instant."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.native.common import common

FIRST = np.iinfo(np.int64).min
STATES = 3
#: The tiles of a lane: what it does from when on.
LANE = st.lists(st.tuples(st.integers(-10, 30), st.integers(-1, STATES - 1)), max_size=12)

Lane = list[tuple[int, int]]


def tiled(drawn: Lane) -> Lane:
    """Tiles of all time, of which neighbours differ."""
    found = [(FIRST, -1)]
    for start, state in sorted(dict(drawn).items()):
        if state != found[-1][1]:
            found.append((start, state))
    return found


def state_at(lane: Lane, at: int) -> int:
    return [state for start, state in lane if start <= at][-1]


def expected(lanes: list[Lane], main: int, inside: tuple[int, int], at: int) -> int:
    """The state of all lanes together at an instant, looked up lane by lane."""
    known = [state for lane in lanes if (state := state_at(lane, at)) >= 0]
    if known:
        return min(known)
    edges = {start for lane in lanes for start, _ in lane[1:]}
    busy = [edge for edge in edges if any(state_at(lane, edge) >= 0 for lane in lanes)]
    after = min((edge for edge in busy if edge > at), default=None)
    before = max(
        (edge for edge in edges if edge <= at and any(state_at(one, edge - 1) >= 0 for one in lanes)), default=None
    )
    if before is not None and after is not None:
        for number, lane in enumerate(lanes[:-1]):
            # The last lane's times are times of each of them.
            ended, began = (
                max(state_at(one, before - 1) for one in (lane, lanes[-1])),
                max(state_at(one, after) for one in (lane, lanes[-1])),
            )
            if number != main and ended >= 0 and began >= 0:
                return STATES
    return STATES + 1 if inside[0] <= at < inside[1] else STATES + 2


@given(st.lists(LANE, min_size=1, max_size=4), LANE, st.integers(0, 3), st.integers(-5, 25), st.integers(1, 20))
def test_any_lanes(drawn: list[Lane], whole: Lane, main: int, low: int, length: int) -> None:
    lanes, main, inside = [*map(tiled, drawn), tiled(whole)], main % len(drawn), (low, low + length)
    behind = np.cumsum([len(lane) for lane in lanes]).astype(np.int32)
    tiles = [tile for lane in lanes for tile in lane]
    parts = (tiles[: behind[-2]], tiles[behind[-2] :])
    starts, states = common(
        main, behind,
        [np.array([start for start, _ in part], np.int64) for part in parts],
        [np.array([state for _, state in part], np.int8) for part in parts],
        STATES, inside,
    )  # fmt: skip
    assert starts[0] == FIRST
    assert all(one < other for one, other in pairwise(starts.tolist()))
    assert all(one != other for one, other in pairwise(states.tolist()))
    found = list(zip(starts.tolist(), states.tolist(), strict=True))
    for at in range(-15, 40):
        assert state_at(found, at) == expected(lanes, main, inside, at)


@pytest.mark.parametrize("number", [2, 3, 64])
def test_many_lanes_that_follow_each_other(number: int) -> None:
    """As many lanes as there are, each once and the last first."""
    lanes = [[(FIRST, -1), (10 * one, 0), (10 * one + 10, -1)] for one in range(number, 0, -1)] + [[(FIRST, -1)]]
    tiles = [tile for lane in lanes for tile in lane]
    starts, states = common(
        0, np.cumsum([len(lane) for lane in lanes]).astype(np.int32),
        [np.array([start for start, _ in tiles], np.int64)], [np.array([state for _, state in tiles], np.int8)],
        1, (0, 1_000),
    )  # fmt: skip
    assert starts.tolist() == [FIRST, 0, 10, 10 * number + 10, 1_000]
    assert states.tolist() == [3, 2, 0, 2, 3]
