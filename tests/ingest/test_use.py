"""The window of a recording of devices alone, without what lies far apart from the work."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.ingest.derive.steps.use import together

#: Work of 100 kernels of 10 ns, one every 11.
WORK = [(11 * i, 11 * i + 10) for i in range(100)]
END = WORK[-1][1]


@pytest.mark.parametrize(
    ("before", "after", "window"),
    [
        ([], [], (0, END)),
        ([(-5_000, -4_998)], [], (0, END)),  # queued long before
        ([], [(5_000, 5_002)], (0, END)),  # the result, fetched at last
        ([(-90_000, -89_998)], [(5_000, 5_002)], (0, END)),
        ([(-1_000, -998)], [], (-1_000, END)),  # a pause of less than half of the time
        ([(-5_000, -4_900)], [], (-5_000, END)),  # more than a hundredth of the work
        ([(-5_000 + 4 * i, -4_998 + 4 * i) for i in range(3)], [], (-5_000, END)),  # and of the activities
    ],
)
def test_few_activities_far_apart_are_no_part_of_the_use(
    before: list[tuple[int, int]], after: list[tuple[int, int]], window: tuple[int, int]
) -> None:
    edges = np.array([*before, *WORK, *after], np.int64)
    assert together(edges[:, 0], edges[:, 1]) == window


def test_two_activities_are_never_apart() -> None:
    assert together(np.array([0, 1_000]), np.array([10, 1_010])) == (0, 1_010)
