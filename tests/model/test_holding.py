"""Which events are directly around some others, in a small trace."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.model.events.columns import Spans
from stepscope.model.events.holding import hold
from support import Facts


def test_only_the_nearest_event_holds_another() -> None:
    facts = Facts()
    step = facts.host("step", "ProfilerStep#0", 0, 900)
    outer = facts.host("op", "aten::linear", 100, 300)
    inner = facts.host("op", "aten::addmm", 110, 200)
    other = facts.host("op", "aten::add", 500, 100)
    after = facts.host("step", "ProfilerStep#1", 1_000, 900)
    trace = facts.trace()
    for spans in (Spans(trace), Spans(narrowed(trace, Filter(steps=(0,))))):
        at = np.flatnonzero(np.isin(spans.id, (step, outer, inner, other)))

        def held(*ids: int, spans: Spans = spans, at: np.ndarray = at) -> set[int]:  # type: ignore[type-arg]
            return set(spans.id[at[hold(spans, at, np.array(ids, np.int64))]].tolist())

        assert held() == held(step) == held(-1, after, 1 << 20) == set()
        assert held(inner) == {outer}
        assert held(outer, inner, other, -1) == {step, outer}
