from __future__ import annotations

import numpy as np

from stepscope.signals.snapshots.split_size import pinning, split_size

MIB = 1 << 20


def sizes(*mib: int) -> np.ndarray:
    return np.array(mib, np.int64) * MIB


def test_blocks_that_pin_large_segments_are_those_of_segments_more_than_half_free() -> None:
    starts, stops = sizes(0, 1000, 3000), sizes(512, 1512, 3002)
    blocks, mine = sizes(0, 100, 1000, 3000), sizes(4, 8, 256, 1)
    assert (pinning(starts, stops, blocks, mine) // MIB).tolist() == [4, 8]
    assert pinning(starts[:0], stops[:0], blocks, mine).size == 0


def test_the_value_is_above_nine_of_ten_pinning_blocks_and_below_the_request() -> None:
    assert split_size(sizes(1, 2, 3), 384 * MIB) == 32
    assert split_size(sizes(*[40] * 10), 384 * MIB) == 64
    assert split_size(sizes(*[1] * 20, 300), 384 * MIB) == 32
    assert split_size(sizes(32), 384 * MIB) == 64


def test_there_is_none_where_no_limit_would_help() -> None:
    assert split_size(sizes(200, 300), 256 * MIB) is None
    assert split_size(sizes(1), 32 * MIB) is None
    assert split_size(sizes(), 384 * MIB) is None
