"""Which threads take turns: each counts as working in the innermost of its events."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.events.change import Change, Scaled
from support import Facts

US = 1000


@pytest.mark.parametrize("outer_first", [True, False])
def test_an_operator_that_waits_for_another_thread_does_not_work_beside_it(outer_first: bool) -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    # Both begin at once; profilers store the longer one first, or the one that ended first.
    events = [("RunBackward", 500 * US), ("aten::ones_like", 50 * US)]
    for name, dur in events if outer_first else reversed(events):
        f.host("op", name, 200 * US, dur)
    f.host("op", "MmBackward", 260 * US, 400 * US, thread="2")
    f.host("op", "aten::optimizer", 710 * US, 290 * US)
    threads = StepGraph.of(f.trace()).built.threads
    assert len(threads.woven) == 2
    handoffs = threads.handoffs
    assert list(zip(handoffs.stopped.tolist(), handoffs.resumed.tolist(), strict=True)) == [
        (250 * US, 260 * US),
        (660 * US, 710 * US),
    ]


def test_a_collection_stops_all_threads_whichever_it_is_recorded_on() -> None:
    """The backward pass runs into it; without it, the thread that waits for the pass goes on sooner."""
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("op", "aten::mm", 10 * US, 90 * US)
    f.host("op", "MmBackward", 110 * US, 600 * US, thread="2")
    collected = f.host("gc", "GC", 150 * US, 550 * US)
    f.host("op", "aten::optimizer", 720 * US, 180 * US)
    f.kernel("adam", 890 * US, 100 * US, launch=(880 * US, 5 * US))
    graph = StepGraph.of(f.trace())
    assert len(graph.built.threads.woven) == 2
    assert graph.predict(Change(host=(Scaled(np.array([collected]), 0.0),))).saved_ns == 550 * US
