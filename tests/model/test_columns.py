"""Columns of events and device activities say what queries say."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.analyses.shared.typical import typical_part
from stepscope.model.events.columns import Spans, named
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.op_inputs import inputs_of
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace
from support import Facts


def _job() -> tuple[Trace, list[int]]:
    facts = Facts()
    events = []
    for number in range(3):
        start = 1_000 * number
        events.append(facts.host("step", f"ProfilerStep#{number}", start, 900))
        events.append(facts.host("op", "aten::mm", start + 100, 300))
        events.append(facts.kernel("sgemm", start + 200, 50, launch=(start + 150, 20)))
    return facts.trace(), events


def test_events_are_found_by_id_and_know_what_is_around_them() -> None:
    trace, _ = _job()
    spans = Spans(trace)
    for row in trace.rows("SELECT s.*, n.name FROM spans s JOIN names n USING (name_id)"):
        at = int(spans.rows(spans.id[spans.id == row["id"]])[0])
        assert (spans.ts[at], spans.dur[at], spans.track[at]) == (row["ts"], row["dur"], row["track"])
        assert spans.of(row["category"])[at]
        assert named(trace, row["name"].__eq__)[at]
        around = int(spans.around[at])
        assert (None if around < 0 else int(spans.id[around])) == row["parent"]


def test_what_a_narrowed_trace_lacks_has_no_position() -> None:
    trace, events = _job()
    whole = Spans(trace)
    part = narrowed(trace, Filter(steps=(1,)))
    spans = Spans(part)
    kept = set(spans.id.tolist())
    assert events[4] in kept
    assert events[1] not in kept
    found = spans.rows(whole.id)
    assert {one for one, at in zip(whole.id.tolist(), found.tolist(), strict=True) if at >= 0} == kept
    assert inputs_of(part).tolist() == [-1] * len(kept)
    assert Steps.of(part).step.tolist() == [1]


def test_columns_of_a_part_keep_the_order_whatever_order_rows_come_in() -> None:
    trace, _ = _job()
    whole = Spans(trace)
    inside = whole.step == 1
    for order in ("id", "id DESC", "dur, hash(id)"):
        # Queries with joins return rows in another order now and then, and each column is a query of its own.
        spans = Spans(trace.narrowed({"spans": f"SELECT * FROM whole.spans WHERE step = 1 ORDER BY {order}"}))
        for name in ("id", "ts", "dur", "track", "name", "category", "step"):
            assert getattr(spans, name).tolist() == getattr(whole, name)[inside].tolist()


def test_the_part_of_typical_steps_asks_for_no_join() -> None:
    facts = Facts()
    for number in range(40):
        facts.host("step", f"ProfilerStep#{number}", 1_000 * number, 900)
        facts.kernel("sgemm", 1_000 * number + 200, 50, launch=(1_000 * number + 150, 20))
    trace = facts.trace()
    odd = tuple(range(1, 40, 2))
    for part in (narrowed(trace, Filter(steps=odd)), typical_part(trace)):
        plan = part.rows("EXPLAIN SELECT dur FROM spans")[0]["explain_value"]
        assert "join" not in plan.lower()
    assert np.unique(Spans(narrowed(trace, Filter(steps=odd))).step).tolist() == list(odd)


def test_activities_know_their_launch() -> None:
    trace, events = _job()
    work = DeviceWork.of(trace)
    order = work.rows(trace, work.event)
    assert work.event[order].tolist() == work.event.tolist()
    assert sorted(work.event.tolist()) == [event for event in events if event in work.event]
    assert work.are("compute").all()
    assert work.is_class("gemm").all()
    assert sorted(work.called.tolist()) == [150, 1_150, 2_150]
    assert work.launched.all()
    assert (work.thread == Spans(trace).track[Spans(trace).rows(work.launch)]).all()
