"""What is around an event: by the recorded nesting, without end on broken ones, kept beside the store."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.model.trace import Trace
from stepscope.web.tiles.parents import Parents
from stepscope.web.tiles.timeline import Timeline


def parents(*of: int) -> Parents:
    return Parents(np.array(of, np.int32))


@pytest.mark.parametrize(
    ("of", "event", "expected"),
    [([-1, 0, 1, 1], 3, [1, 0]), ([-1, 0, 1, 1], 0, []), ([-1], 7, []), ([-1], -1, []), ([2, -1, 1], 0, [2, 1])],
)
def test_the_nearest_comes_first(of: list[int], event: int, expected: list[int]) -> None:
    assert parents(*of).around(event) == expected


def test_a_broken_nesting_ends() -> None:
    assert len(parents(1, 0).around(0)) == 200


def test_all_of_a_recording(demo_trace: Trace) -> None:
    rank = demo_trace.ranks[0]
    rows = demo_trace.rank(rank).rows("SELECT id, parent, depth FROM spans")
    parent = {row["id"]: row["parent"] for row in rows}
    timeline = Timeline(demo_trace)
    for row in rows:
        found = timeline.around(rank, row["id"])
        assert found == [one for one in (parent[row["id"]],) if one is not None] + (
            timeline.around(rank, parent[row["id"]]) if row["parent"] is not None else []
        )
        assert len(found) == (row["depth"] or 0)
