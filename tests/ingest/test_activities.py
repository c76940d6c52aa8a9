"""Device activities are stored with what is to be known of their launches and operators."""

from __future__ import annotations

import pytest

from stepscope.analyses.shared.narrow import Filter, narrowed
from support import Facts

#: The same rows, each looked up among the events.
LOOKED_UP = """
SELECT k.event, l.ts AS launch_ts, l.dur AS launch_dur, l.track AS launch_track, l.name_id AS launch_name_id,
    l.step AS launch_step, o.ts AS op_ts, o.track AS op_track, o.name_id AS op_name_id
FROM kernels k LEFT JOIN spans l ON l.id = k.launch LEFT JOIN spans o ON o.id = k.op ORDER BY k.event
"""
STORED = (
    "SELECT event, launch_ts, launch_dur, launch_track, launch_name_id, launch_step, op_ts, op_track, op_name_id "
    "FROM activities ORDER BY event"
)


@pytest.fixture
def trace():
    facts = Facts()
    facts.step(0, 0, 100)
    facts.host("op", "aten::mm", 10, 50)
    facts.kernel("a", 40, 20, launch=(20, 5))
    facts.kernel("of another thread", 60, 20, launch=(30, 5), thread="2")
    facts.kernel("launched before", 1, 2)
    facts.step(1, 100, 100)
    facts.host("op", "aten::add", 110, 5, external_id=9)
    facts.kernel("of a graph", 140, 10, launch=(120, 5), external_id=9)
    facts.kernel("b", 160, 10, launch=(130, 5))
    return facts.trace()


@pytest.mark.parametrize("keep", [Filter(), Filter(steps=(1,)), Filter(until=130), Filter(categories=("kernel", "op"))])
def test_launches_and_operators_are_those_of_the_events(trace, keep):
    part = narrowed(trace, keep)
    rows = part.rows(STORED)
    assert rows == part.rows(LOOKED_UP)
    assert rows


def test_activities_are_the_kernels(trace):
    columns = "event, ts, dur, track, kind, launch, op, step"
    assert trace.rows(f"SELECT {columns} FROM activities") == trace.rows(f"SELECT {columns} FROM kernels")
    assert trace.scalar("SELECT count(*) FROM activities a JOIN names n USING (name_id) WHERE n.name = a.name") == 5
