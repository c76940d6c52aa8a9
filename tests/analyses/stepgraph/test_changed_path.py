"""What limits a changed step: the critical path by what it consists of, before and after."""

from __future__ import annotations

from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.changed_path import course_under, path_times
from stepscope.analyses.stepgraph.critical_path import critical_path
from stepscope.analyses.stepgraph.path import Course
from stepscope.analyses.stepgraph.replay import replay
from stepscope.analyses.stepgraph.whatif.changes import change_of
from stepscope.model.events.change import Change
from stepscope.model.trace import Trace
from support import Facts

US = 1000


def job() -> Trace:
    """A step of 1000 µs: 300 of loading, then a GEMM and an elementwise kernel, which the host waits for."""
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("dataloader", "enumerate(DataLoader)#_SingleProcess", 0, 300 * US)
    f.host("op", "aten::mm", 310 * US, 90 * US)
    f.kernel("ampere_bf16_s16816gemm_bf16_128x64", 402 * US, 300 * US, launch=(390 * US, 10 * US))
    f.kernel("vectorized_elementwise_kernel", 703 * US, 197 * US, launch=(401 * US, 10 * US))
    f.host("sync", "cudaDeviceSynchronize", 412 * US, 493 * US)
    return f.trace()


def changed(trace: Trace, **words: list[str]) -> dict[str, tuple[int, int]]:
    """Time by part and detail before and after, in µs; both add up to what the graph predicts."""
    change = change_of(trace, **words)
    prediction = StepGraph.of(trace).predict(change)
    found = path_times(trace, change, prediction)
    assert sum(one.base_ns for one in found) == prediction.base_ns
    assert sum(one.new_ns for one in found) == prediction.new_ns
    assert [one.new_ns for one in found] == sorted((one.new_ns for one in found), reverse=True)
    return {f"{one.part} {one.detail or ''}".strip(): (one.base_ns // US, one.new_ns // US) for one in found}


def test_without_a_change_it_is_the_critical_path() -> None:
    trace = job()
    known = {
        f"{row['part']} {row['detail'] or ''}".strip(): row["total_ns"] // US
        for row in critical_path(trace).records()
        if row["step"] == 0
    }
    assert changed(trace) == {name: (took, took) for name, took in known.items()}
    stepgraph = StepGraph.of(trace)
    timing = stepgraph.effects.of(Change())
    course, recorded = (
        course_under(stepgraph.built, timing, replay(stepgraph.built.graph, timing)),
        Course.recorded(stepgraph.built),
    )
    assert course.ends.tolist() == recorded.ends.tolist()
    assert course.starts.tolist() == recorded.starts.tolist()


def test_what_is_scaled_takes_its_share_and_the_rest_stays() -> None:
    found = changed(job(), scale=["kernel:gemm=0.5"])
    assert found["kernel gemm"] == (300, 150)
    assert found["kernel elementwise"] == (197, 197)
    assert found["data"] == (300, 300)


def test_what_is_gone_is_not_on_the_path_and_the_host_may_be_what_is_left() -> None:
    found = changed(job(), remove=["data_wait", "kernel"])
    assert found["data"] == (300, 0)
    assert found["kernel gemm"] == (300, 0)
    assert next(iter(found)) == "host python"


def test_half_of_the_loader_leaves_half_of_its_time() -> None:
    assert changed(job(), scale=["data_wait=0.5"])["data"] == (300, 150)


def test_a_slower_part_is_longer_on_the_path() -> None:
    assert changed(job(), scale=["kernel:elementwise=2"])["kernel elementwise"] == (197, 394)
