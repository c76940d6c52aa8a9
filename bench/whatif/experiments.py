"""Changes of a simulated job, and how one would ask for them of its recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.building.peers import moving_ns
from stepscope.analyses.stepgraph.whatif.changes import change_of
from stepscope.analyses.stepgraph.whatif.subjects import waits_for
from stepscope.model.events.change import Change, Scaled, scaled_each
from stepscope.model.trace import Trace
from stepscope.simulate import SimJob

Asked = Callable[[Trace, SimJob], Change]


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
    change: Asked


def _words(**words: list[str]) -> Asked:
    return lambda trace, _: change_of(trace, **words)


def _compute(factor: float) -> Asked:
    """Kernels take `factor` times as long, but no less than the shortest kernel."""

    def change(trace: Trace, job: SimJob) -> Change:
        rows = trace.columns("SELECT event, dur FROM kernels WHERE kind = 'compute'")
        goal = np.maximum(rows["dur"] * factor, np.minimum(rows["dur"], job.kernel_floor_ns))
        return Change(device=scaled_each(rows["event"], goal / np.maximum(rows["dur"], 1), 1000))

    return change


def _links(factor: float) -> Asked:
    """Moving data takes `factor` times as long, but for the fixed part of each collective."""

    def change(trace: Trace, job: SimJob) -> Change:
        built = StepGraph.of(trace).built
        mine = built.activities.kind == 1
        whole = (built.activities.end - built.activities.ts)[mine]
        moving = moving_ns(built.peers, built.activities)[mine]
        fixed = np.minimum(job.comm_latency_ns, moving)
        return Change(
            device=scaled_each(
                built.activities.event[mine], (whole - (moving - fixed) * (1 - factor)) / np.maximum(whole, 1), 1000
            )
        )

    return change


def _halved_host(job: SimJob) -> SimJob:
    names = ("op_ns", "python_ns", "launch_ns", "call_ns", "malloc_ns", "collate_ns", "gc_pause_ns", "buffer_flush_ns")
    halves: dict[str, int] = {name: getattr(job, name) // 2 for name in names}
    if not job.workers:
        halves["load_ns"] = job.load_ns // 2
    return replace(job, **halves)  # type: ignore[arg-type]


def _halved_kernels(job: SimJob) -> SimJob:
    return replace(job, compute_scale=job.compute_scale / 2)


def _links_times(factor: float) -> Callable[[SimJob], SimJob]:
    return lambda job: replace(
        job, link_bandwidth=job.link_bandwidth * factor, network_bandwidth=job.network_bandwidth * factor
    )


def _without_items(trace: Trace, _: SimJob) -> Change:
    copies = trace.columns("SELECT event FROM copies WHERE direction = 'DtoH'")["event"]
    return change_of(trace, remove=["host:aten::item", "sync:*StreamSynchronize"]) + Change(
        device=(Scaled(copies, 0.0),)
    )


def _without_syncs(job: SimJob) -> SimJob:
    return replace(job, sync_every_op=False, sync_each_step=False)


def _pinned(trace: Trace, job: SimJob) -> Change:
    rate = job.pageable_bandwidth / job.pinned_bandwidth
    copies = trace.columns("SELECT event FROM copies WHERE direction = 'HtoD'")["event"]
    waits, own = waits_for(trace, copies)  # PyTorch synchronises after a copy from pageable memory only
    return change_of(trace, scale=[f"copy:HtoD={rate}"]) + Change(unblocked=waits, host=(Scaled(own, 0.0),))


def _communicates(job: SimJob) -> bool:
    return job.ranks > 1 and (job.training or job.parallel == "fsdp")


def _late(job: SimJob) -> bool:
    return _communicates(job) and job.parallel == "ddp" and not job.overlap_comm and not job.graph


def _always(_: SimJob) -> bool:
    return True


_NO_SYNCS = _words(remove=["sync:*DeviceSynchronize", "host:*DeviceSynchronize"])

EXPERIMENTS = (
    Experiment("nothing", _always, lambda j: j, lambda *_: Change()),
    Experiment("kernels x 0.5", _always, _halved_kernels, _compute(0.5)),
    Experiment("kernels x 2", _always, lambda j: replace(j, compute_scale=j.compute_scale * 2), _compute(2.0)),
    Experiment("host x 0.5", _always, _halved_host, _words(scale=["host=0.5"])),
    Experiment(
        "kernels and host x 0.5",
        _always,
        lambda j: _halved_host(_halved_kernels(j)),
        lambda trace, job: _compute(0.5)(trace, job) + change_of(trace, scale=["host=0.5"]),
    ),
    Experiment(
        "launch calls x 0.5",
        _always,
        lambda j: replace(j, launch_ns=j.launch_ns // 2),
        _words(scale=["launch=0.5"]),
    ),
    Experiment(
        "no data wait",
        _always,
        lambda j: replace(j, load_ns=1, collate_ns=1, workers=4),
        _words(remove=["data_wait"]),
    ),
    Experiment(
        "loader x 0.5",
        lambda j: j.load_ns >= 8_000_000,
        lambda j: replace(j, load_ns=j.load_ns // 2, collate_ns=j.collate_ns // 2),
        _words(scale=["data_wait=0.5"]),
    ),
    Experiment(
        "no .item()",
        lambda j: j.items_per_step > 0 and not j.graph,
        lambda j: replace(j, items_per_step=0),
        _without_items,
    ),
    Experiment("no device synchronisation", lambda j: j.sync_every_op and not j.graph, _without_syncs, _NO_SYNCS),
    Experiment(
        "no synchronisation at the end of steps",
        lambda j: j.sync_each_step and not j.sync_every_op,
        _without_syncs,
        _NO_SYNCS,
    ),
    Experiment("pinned memory", lambda j: not j.pinned, lambda j: replace(j, pinned=True), _pinned),
    Experiment("links x 4", _communicates, _links_times(4), _links(0.25)),
    Experiment("links x 0.5", _communicates, _links_times(0.5), _links(2.0)),
    Experiment("communication overlapped", _late, lambda j: replace(j, overlap_comm=True), _words(overlap=["comm"])),
    Experiment(
        "no garbage collection",
        lambda j: j.gc_interval_ops > 0 and j.with_stack and not j.graph,
        lambda j: replace(j, gc_interval_ops=0),
        _words(remove=["gc"]),
    ),
    Experiment(
        "no allocation",
        lambda j: j.empty_cache and not j.graph,
        lambda j: replace(j, empty_cache=False),
        _words(remove=["allocation"]),
    ),
    Experiment(
        "no profiler",
        lambda j: j.buffer_flush_ops > 0 and not j.graph,
        lambda j: replace(j, buffer_flush_ops=0),
        _words(remove=["profiler"]),
    ),
)
