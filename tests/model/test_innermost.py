"""The innermost interval around moments."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.model.events.innermost import innermost


@pytest.mark.parametrize(
    ("intervals", "moments", "expected"),
    [
        pytest.param([], [5], [-1], id="none"),
        pytest.param([(0, 10), (2, 4)], [1, 2, 3, 4, 5, 10, 11], [0, 1, 1, 1, 0, 0, -1], id="nested"),
        pytest.param([(0, 10), (8, 20), (9, 9)], [9, 10, 15], [2, 1, 1], id="crossing"),
        pytest.param([(0, 10), (0, 3)], [0, 4], [1, 0], id="equal starts"),
        pytest.param([(3, 3), (4, 2)], [3, 4], [0, -1], id="ends before it starts"),
    ],
)
def test_innermost(intervals: list[tuple[int, int]], moments: list[int], expected: list[int]) -> None:
    starts, ends = np.array(intervals, np.int64).reshape(-1, 2).T
    assert innermost(starts, ends, np.array(moments)).tolist() == expected


def test_innermost_of_many_is_the_last_one_to_start() -> None:
    random = np.random.default_rng(7)
    starts = np.sort(random.integers(0, 300, 400))
    ends = starts + random.integers(0, 40, 400) ** 2 // 40
    moments = np.sort(random.integers(0, 340, 200))
    around = (starts <= moments[:, None]) & (ends >= moments[:, None])
    last = np.where(around.any(1), around.shape[1] - 1 - around[:, ::-1].argmax(1), -1)
    assert innermost(starts, ends, moments).tolist() == last.tolist()
