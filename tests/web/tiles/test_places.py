"""Where findings are, and the critical path, as the timeline shows them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from stepscope.analyses.stepgraph.critical_path import critical_path
from stepscope.model.trace import Trace
from stepscope.web.tiles.path_track import path_of
from stepscope.web.tiles.places import places_of
from stepscope.web.tiles.timeline import Timeline
from support import Facts

US = 1000


def finding(events: list[int], ranges: list[tuple[int, int]], ranks: tuple[int, ...] = (0,)) -> dict[str, Any]:
    return {"evidence": {"ranks": list(ranks), "events": events, "ranges": [list(one) for one in ranges]}}


@pytest.fixture
def trace() -> Trace:
    f = Facts()
    f.step(0, 0, 100 * US)
    f.step(1, 100 * US, 100 * US)
    f.host("dataloader", "enumerate(DataLoader)", 0, 30 * US)
    f.host("sync", "cudaDeviceSynchronize", 120 * US, 10 * US)
    f.kernel("gemm", 40 * US, 20 * US, launch=(35 * US, 2 * US))
    return f.trace()


def test_events_and_stretches_in_the_order_of_time(trace: Trace) -> None:
    ids = {
        row["name"]: row["id"] for row in trace.rows("SELECT s.id, n.name FROM spans s JOIN names n USING (name_id)")
    }
    wait, sync = ids["enumerate(DataLoader)"], ids["cudaDeviceSynchronize"]
    stretches = [(150 * US, 160 * US), (0, 30 * US), (500 * US, 501 * US)]
    found = places_of(Timeline(trace), [finding([], [], ()), finding([sync, wait, 9999], stretches)])
    told = [
        (one["finding"], one["at"] // US, (one["end"] - one["start"]) // US, one["category"], one["step"])
        for one in found
    ]
    # A stretch that an event fills is that event; an event that the recording lacks is none.
    assert told == [
        (1, 0, 30, "dataloader", 0),
        (1, 120, 10, "sync", 1),
        (1, 150, 10, None, 1),
        (1, 500, 1, None, None),
    ]
    assert [one["event"] for one in found] == [wait, sync, None, None]


def test_a_finding_of_a_rank_that_is_not_at_hand_has_no_place(trace: Trace) -> None:
    assert places_of(Timeline(trace), [finding([1], [(0, 5)], (7,))]) == []


def test_the_critical_path_tiles_its_steps_as_the_table_says(demo_trace: Trace) -> None:
    found = path_of(Timeline(demo_trace), demo_trace.ranks[0])
    sums: dict[tuple[str, str | None], int] = defaultdict(int)
    for start, end, label in zip(found["start"], found["end"], found["label"], strict=True):
        sums[found["labels"][label]] += end - start
    rows = [row for row in critical_path(demo_trace).records() if row["step"] is None]
    assert sum(sums.values()) == sum(row["total_ns"] for row in rows)
    kernels = {row["detail"]: row["total_ns"] for row in rows if row["part"] == "kernel"}
    assert {label[1]: took for label, took in sums.items() if label[0] == "kernel"} == kernels
    assert all(end <= start for end, start in zip(found["end"], found["start"][1:], strict=False))
    kinds = demo_trace.rows("SELECT DISTINCT kind FROM kernels WHERE event IN (SELECT unnest(?))", [found["event"]])
    assert {row["kind"] for row in kinds} >= {"compute"}
