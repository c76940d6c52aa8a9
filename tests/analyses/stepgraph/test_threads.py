"""Which threads take turns: each counts as working in the innermost of its events."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.events.change import Change, Scaled, Stretches
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


def _side_by_side(number: int, stream: str) -> int:
    """What the step saves if the main thread's time were halved while another one launches so many kernels beside it.

    Args:
        number: Kernels that the other thread launches in each step, where the main one launches 20.
        stream: The queue that the other thread feeds; that of the main one is "7".
    """
    f = Facts()
    for step in range(4):
        start = step * 1000 * US
        f.step(step, start, 1000 * US)
        for thread, kernels, queue in (("1", 20, "7"), ("2", number, stream)):
            for kernel in range(kernels):
                at = start + kernel * 50 * US
                f.host("op", "aten::add", at, 45 * US, thread=thread)
                f.kernel("add", at + 40 * US, 3 * US, launch=(at + 30 * US, 5 * US), thread=thread, stream=queue)
    starts = np.arange(4) * 1000 * US
    change = Change(time=(Stretches(starts, starts + 1000 * US, 0.5),))
    return StepGraph.of(f.trace()).predict(change).saved_ns // US


@pytest.mark.parametrize(
    ("number", "stream", "alike"),
    [
        (20, "8", True),
        # A third of the main thread's kernels are a quarter of all.
        (7, "8", True),
        # Few kernels, or kernels on the main thread's queue, are other work, which takes as long as it did.
        (6, "8", False),
        (20, "7", False),
    ],
)
def test_threads_that_feed_queues_of_their_own_get_faster_as_the_main_one(
    number: int, stream: str, alike: bool
) -> None:
    saved = _side_by_side(number, stream)
    assert saved > 450 if alike else saved < 200
