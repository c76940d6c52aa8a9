"""Predictions where one thread hands its work to another through a queue, as Ascend's framework does."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.critical_path import critical_path
from stepscope.analyses.stepgraph.whatif.changes import change_of
from stepscope.model.events.change import Change, Scaled
from stepscope.model.trace import Trace
from support import Facts

US = 1000


def job(*tasks: tuple[int, int, int]) -> tuple[Trace, list[int], list[int]]:
    """A step of 1000 µs: the main thread prepares tasks, another one launches them, the host waits for them.

    Args:
        tasks: In µs, when an operator begins that takes 100 and ends with putting a task in the queue; when that is
            taken; and how long that takes, at the end of which a kernel of 50 is launched.
    """
    f = Facts()
    f.step(0, 0, 1000 * US)
    ops, takes = [], []
    for start, taken, took in tasks:
        ops.append(f.host("op", "aten::mm", start * US, 100 * US))
        f.host("queue", "Enqueue", (start + 90) * US, 10 * US)
        takes.append(f.host("queue", "Dequeue@mm", taken * US, took * US, thread="2"))
        for thread, ts in (("1", start + 90), ("2", taken)):
            track = f.staging.track("host", process="1", thread=thread)
            f.row("raw_flows", kind="queue", key=str(start), is_source=thread == "1", ts=ts * US, track=track)
        end = taken + took
        f.kernel("mm", (end + 2) * US, 50 * US, launch=((end - 5) * US, 5 * US), thread="2", kind="compute")
    done = tasks[-1][1] + tasks[-1][2]
    f.host("sync", "aclrtSynchronizeStream", (done + 10) * US, 47 * US)
    f.host("op", "aten::item", (done + 57) * US, (1000 - done - 57) * US)
    return f.trace(), ops, takes


def saved(trace: Trace, events: list[int], factor: float = 0.5) -> int:
    graph = StepGraph.of(trace)
    assert (graph.replay(Change()) == graph.built.graph.nodes.end).all()
    return graph.predict(Change(host=(Scaled(np.array(events), factor),))).saved_ns


def test_work_that_is_put_in_the_queue_earlier_is_taken_earlier() -> None:
    trace, ops, takes = job((0, 104, 200))
    assert saved(trace, ops) == 50 * US
    assert saved(trace, takes) == 100 * US
    assert saved(trace, [*ops, *takes], 0.0) == (100 + 200) * US


def test_a_thread_that_is_behind_does_not_wait_for_the_one_that_leads_it() -> None:
    trace, ops, takes = job((0, 104, 200), (100, 306, 200))
    assert saved(trace, ops[1:]) == 0
    # The first task is taken 50 µs earlier, and all that is behind it.
    assert saved(trace, ops[:1]) == 50 * US
    assert saved(trace, takes) == 200 * US


def test_a_thread_that_keeps_up_waits_for_each_task() -> None:
    trace, ops, takes = job((0, 104, 50), (200, 304, 50))
    assert saved(trace, ops[:1]) == 50 * US
    assert saved(trace, takes[:1]) == 0
    assert saved(trace, takes[1:]) == 25 * US


def test_the_path_leads_through_both_threads() -> None:
    trace, _, _ = job((0, 104, 200))
    rows = {(row["part"], row["detail"]): row["total_ns"] for row in critical_path(trace).records() if row["step"] == 0}
    assert rows["launch", "handed to another thread"] == 4 * US
    assert not {part for part, _ in rows} & {"unknown"}
    assert sum(rows.values()) == 1000 * US


def test_words_for_what_is_launched_by_another_thread() -> None:
    trace, _, _ = job((0, 104, 200))
    assert StepGraph.of(trace).predict(change_of(trace, scale=["op:aten::mm=0.5"])).saved_ns == (50 + 25) * US


def test_a_task_that_is_taken_at_the_moment_at_which_the_one_before_it_is_done_comes_after_that() -> None:
    trace, ops, takes = job((0, 104, 200), (100, 304, 200))
    assert saved(trace, takes) == 200 * US
    graph = StepGraph.of(trace)
    first = graph.built.device[0]
    # What puts the second task later does not hold up what is launched for the first one.
    ends = graph.replay(Change(host=(Scaled(np.array(ops[1:]), 4.0),)))
    assert ends[first] == graph.built.graph.nodes.end[first]
    assert ends[graph.built.device[1]] > graph.built.graph.nodes.end[graph.built.device[1]]
