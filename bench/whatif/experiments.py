"""Changes of a simulated job, and how one would ask for them of its recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stepscope.analyses.stepgraph import Change, Scaled
from stepscope.analyses.stepgraph.changes import change_of
from stepscope.analyses.stepgraph.subjects import waits_for
from stepscope.model.trace import Trace
from stepscope.simulate import SimJob


@dataclass(frozen=True, slots=True)
class Experiment:
    """One change.

    Attributes:
        name: What is changed.
        applies: Whether a job has it to change.
        job: The changed job.
        change: The same in terms of the recording of the unchanged job.
    """

    name: str
    applies: Callable[[SimJob], bool]
    job: Callable[[SimJob], SimJob]
    change: Callable[[Trace, SimJob], Change]


def _words(**words: list[str]) -> Callable[[Trace, SimJob], Change]:
    return lambda trace, _: change_of(trace, **words)


def _compute(factor: float, op_class: str = "") -> Callable[[Trace, SimJob], Change]:
    """Kernels take `factor` times as long, but no less than the shortest kernel."""

    def change(trace: Trace, job: SimJob) -> Change:
        rows = trace.columns(
            "SELECT event, dur FROM kernels WHERE kind = 'compute' AND ($c = '' OR op_class = $c)", {"c": op_class}
        )
        # With noise, the floor itself is disturbed: what is within a tenth of it is taken to lie on it.
        goal = np.maximum(rows["dur"] * factor, np.minimum(rows["dur"], job.kernel_floor_ns))
        step = np.round(goal / np.maximum(rows["dur"], 1), 2)
        return Change(device=tuple(Scaled(rows["event"][step == one], float(one)) for one in np.unique(step)))

    return change


def _links(factor: float) -> Callable[[Trace, SimJob], Change]:
    """Transfers take `factor` times as long, but for the fixed part of each collective."""

    def change(trace: Trace, job: SimJob) -> Change:
        rows = trace.columns("SELECT event, dur FROM kernels WHERE kind = 'comm'")
        fixed = np.minimum(job.comm_latency_ns, rows["dur"])
        step = np.round((fixed + (rows["dur"] - fixed) * factor) / np.maximum(rows["dur"], 1), 2)
        return Change(device=tuple(Scaled(rows["event"][step == one], float(one)) for one in np.unique(step)))

    return change


def _halved_host(job: SimJob) -> SimJob:
    names = ("op_ns", "python_ns", "launch_ns", "call_ns", "malloc_ns", "collate_ns", "gc_pause_ns", "buffer_flush_ns")
    halves: dict[str, int] = {name: getattr(job, name) // 2 for name in names}
    if not job.workers:
        halves["load_ns"] = job.load_ns // 2
    return replace(job, **halves)  # type: ignore[arg-type]


def _without_items(trace: Trace, _: SimJob) -> Change:
    copies = trace.columns("SELECT event FROM copies WHERE direction = 'DtoH'")["event"]
    return change_of(trace, remove=["host:aten::item", "sync:*StreamSynchronize"]) + Change(
        device=(Scaled(copies, 0.0),)
    )


def _pinned(trace: Trace, job: SimJob) -> Change:
    rate = job.pageable_bandwidth / job.pinned_bandwidth
    copies = trace.columns("SELECT event FROM copies WHERE direction = 'HtoD'")["event"]
    waits, own = waits_for(trace, copies)
    calls = Scaled(own, 0.0)  # PyTorch synchronises after a copy from pageable memory only
    return change_of(trace, scale=[f"copy:HtoD={rate}"]) + Change(unblocked=waits, host=(calls,))


def _multi(job: SimJob) -> bool:
    return job.ranks > 1 and (job.training or job.parallel == "fsdp")


EXPERIMENTS = (
    Experiment("nothing", lambda _: True, lambda j: j, lambda *_: Change()),
    Experiment("kernels x0.5", lambda _: True, lambda j: replace(j, compute_scale=j.compute_scale / 2), _compute(0.5)),
    Experiment("kernels x2", lambda _: True, lambda j: replace(j, compute_scale=j.compute_scale * 2), _compute(2.0)),
    Experiment("host x0.5", lambda _: True, _halved_host, _words(scale=["host=0.5"])),
    Experiment("launch calls x0.5", lambda _: True, lambda j: replace(j, launch_ns=j.launch_ns // 2),
               _words(scale=["launch=0.5"])),
    Experiment("no .item()", lambda j: j.items_per_step > 0 and not j.graph, lambda j: replace(j, items_per_step=0), _without_items),
    Experiment("no sync after operators", lambda j: j.sync_every_op and not j.graph,
               lambda j: replace(j, sync_every_op=False, sync_each_step=False), _words(remove=["sync:*DeviceSynchronize", "host:*DeviceSynchronize"])),
    Experiment("no sync at end of step", lambda j: j.sync_each_step and not j.sync_every_op,
               lambda j: replace(j, sync_each_step=False), _words(remove=["sync:*DeviceSynchronize", "host:*DeviceSynchronize"])),
    Experiment("pinned memory", lambda j: not j.pinned, lambda j: replace(j, pinned=True), _pinned),
    Experiment("no data wait", lambda _: True, lambda j: replace(j, load_ns=1, collate_ns=1, workers=4),
               _words(remove=["data_wait"])),
    Experiment("loader x0.5", lambda j: j.load_ns >= 8_000_000,
               lambda j: replace(j, load_ns=j.load_ns // 2, collate_ns=j.collate_ns // 2), _words(scale=["data_wait=0.5"])),
    Experiment("links x4", _multi, lambda j: replace(j, link_bandwidth=j.link_bandwidth * 4,
               network_bandwidth=j.network_bandwidth * 4), _links(0.25)),
    Experiment("links x0.5", _multi, lambda j: replace(j, link_bandwidth=j.link_bandwidth / 2,
               network_bandwidth=j.network_bandwidth / 2), _links(2.0)),
    Experiment("overlapped communication", lambda j: _multi(j) and j.parallel == "ddp" and not j.overlap_comm and not j.graph,
               lambda j: replace(j, overlap_comm=True), _words(overlap=["comm"])),
    Experiment("no garbage collection", lambda j: j.gc_interval_ops > 0 and j.with_stack and not j.graph,
               lambda j: replace(j, gc_interval_ops=0), _words(remove=["gc"])),
    Experiment("no allocation", lambda j: j.empty_cache and not j.graph, lambda j: replace(j, empty_cache=False),
               _words(remove=["allocation"])),
    Experiment("no profiler", lambda j: j.buffer_flush_ops > 0 and not j.graph, lambda j: replace(j, buffer_flush_ops=0),
               _words(remove=["profiler"])),
    Experiment("kernels and host x0.5", lambda _: True,
               lambda j: _halved_host(replace(j, compute_scale=j.compute_scale / 2)),
               lambda t, j: _compute(0.5)(t, j) + change_of(t, scale=["host=0.5"])),
)  # fmt: skip
