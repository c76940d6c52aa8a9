"""Predictions against simulating the changed job, within 5 %. `python -m bench.whatif` asks a family of jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from series import series
from stepscope.analyses.communication.decisive_rank import decisive_rank
from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.whatif.changes import change_of
from stepscope.analyses.stepgraph.whatif.subjects import synchronising
from stepscope.ingest import Options, open_trace
from stepscope.model.events.change import Change, Scaled
from stepscope.model.trace import Trace
from stepscope.simulate import SimJob, simulate
from stepscope.simulate.engine.run import Simulation

#: Most kernels are far longer than the shortest, so that half a kernel is half as long.
DEVICE = SimJob(layers=3, hidden=1024, sequence=512, batch=16, compute_scale=4.0, load_ns=10_000, record_shapes=False)
HOST = SimJob(layers=3, hidden=128, sequence=32, python_ns=15_000, load_ns=10_000, record_shapes=False)
CONVNET = replace(DEVICE, model="convnet", layers=1, hidden=64, batch=64, device="a100")
RANKS = replace(DEVICE, ranks=2, vocab=8000, link_bandwidth=20e9)
HALVES = dict.fromkeys(("op_ns", "python_ns", "launch_ns", "call_ns", "collate_ns"), 0.5)

Words = dict[str, list[str]]


def recorded(job: SimJob, out: Path) -> tuple[Path, list[int]]:
    """Simulate a job: its recording, and the true mean step of each rank."""
    path = out if job.ranks > 1 else out / "trace.json"
    simulate(job, path)
    return path, step_ns(json.loads(next(out.glob("*.truth.json")).read_text())["ranks"])


def unwritten(job: SimJob) -> list[int]:
    """The true mean step of each rank of a job that nobody records."""
    simulation = Simulation(job)
    for _ in simulation.batches():
        pass
    return step_ns(simulation.truth())


def step_ns(ranks: list[dict[str, Any]]) -> list[int]:
    means = []
    for rank in ranks:
        tiles = [step["tile"]["total_ns"] for step in rank["steps"]]
        means.append(sum(tiles) // len(tiles))
    return means


def check(job: SimJob, changed: SimJob, asked: Callable[[Trace], Change], tmp_path: Path, least: float = 0.01) -> None:
    """The prediction is right, and about something: the step changes by at least this share."""
    path, before = recorded(job, tmp_path)
    after = unwritten(changed)
    with open_trace(path, Options(cache=False)) as trace:
        rank = decisive_rank(trace)
        found = StepGraph.of(trace.rank(rank)).predict(asked(trace.rank(rank)))
    assert found.base_ns == before[rank]
    assert abs(after[rank] - before[rank]) >= least * before[rank]
    assert found.new_ns == pytest.approx(after[rank], rel=0.05)


def words(**given: list[str]) -> Callable[[Trace], Change]:
    return lambda trace: change_of(trace, **given)


def halved(job: SimJob) -> SimJob:
    return replace(job, **{name: int(getattr(job, name) * share) for name, share in HALVES.items()})


def faster(job: SimJob) -> SimJob:
    return replace(job, compute_scale=job.compute_scale / 2)


AFTER_COPIES_SQL = """
WITH placed AS (
    SELECT o.track, h.ts, o.ts + o.dur AS stop
    FROM kernels k JOIN spans h ON h.id = k.launch JOIN spans o ON o.id = k.op
    WHERE k.event IN (SELECT unnest($copies))
)
SELECT s.id AS event FROM spans s JOIN placed p ON s.track = p.track AND s.ts >= p.ts AND s.ts < p.stop
WHERE s.id IN (SELECT unnest($syncs))
"""
LAUNCHES_SQL = (
    "SELECT launch AS event FROM kernels WHERE launch IS NOT NULL AND event IN (SELECT unnest($copies)) ORDER BY launch"
)


def waits_for_copies(trace: Trace, copies: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Calls that copy, with the synchronising calls behind them in the same operator; and the latter alone."""
    syncs = synchronising(trace, "")
    own = np.unique(trace.columns(AFTER_COPIES_SQL, {"copies": copies.tolist(), "syncs": syncs.tolist()})["event"])
    launches = trace.columns(LAUNCHES_SQL, {"copies": copies.tolist()})["event"]
    return np.union1d(launches, own), np.setdiff1d(own, launches)


def pinned(trace: Trace) -> Change:
    copies = trace.columns("SELECT event FROM copies WHERE direction = 'HtoD'")["event"]
    waits, own = waits_for_copies(trace, copies)
    return change_of(trace, scale=["copy:HtoD=0.21"]) + Change(unblocked=waits, host=(Scaled(own, 0.0),))


def without_items(trace: Trace) -> Change:
    return change_of(trace, remove=["host:aten::item", "sync:*StreamSynchronize", "copy:DtoH"])


@pytest.mark.parametrize("job", series([DEVICE, CONVNET, RANKS, replace(RANKS, parallel="fsdp")], 2))
def test_kernels_of_a_job_that_the_device_bounds(job: SimJob, tmp_path: Path) -> None:
    check(job, faster(job), words(scale=["kernel=0.5"]), tmp_path, least=0.2)


@pytest.mark.parametrize("job", series([HOST, replace(HOST, ranks=2), replace(DEVICE, compute_scale=0.3)], 2))
def test_host_work_of_a_job_that_the_host_bounds(job: SimJob, tmp_path: Path) -> None:
    check(job, halved(job), words(scale=["host=0.5"]), tmp_path, least=0.1)


def test_time_that_is_hidden_is_worth_nothing(tmp_path: Path) -> None:
    check(HOST, replace(HOST, compute_scale=2.0), words(scale=["kernel=2"]), tmp_path / "kernels", least=0)
    check(DEVICE, halved(DEVICE), words(scale=["host=0.5"]), tmp_path / "host", least=0)


def test_launch_calls(tmp_path: Path) -> None:
    check(HOST, replace(HOST, launch_ns=HOST.launch_ns // 4), words(scale=["launch=0.25"]), tmp_path)


@pytest.mark.parametrize(("workers", "load"), [(0, 3_000_000), (2, 40_000_000)])
def test_data_waits(workers: int, load: int, tmp_path: Path) -> None:
    job = replace(HOST, workers=workers, load_ns=load, steps=4)
    check(job, replace(job, load_ns=1, collate_ns=1, workers=2), words(remove=["data_wait"]), tmp_path, least=0.3)


def test_a_job_that_waits_for_data_gets_no_faster_by_its_device(tmp_path: Path) -> None:
    job = replace(DEVICE, compute_scale=1.0, workers=2, load_ns=40_000_000, steps=6)
    check(job, faster(job), words(scale=["kernel=0.5"]), tmp_path, least=0)


def test_scalars_that_are_read(tmp_path: Path) -> None:
    job = replace(HOST, items_per_step=4)
    check(job, replace(job, items_per_step=0), without_items, tmp_path, least=0.03)


@pytest.mark.parametrize("change", [{"sync_every_op": True}, {"sync_each_step": True}])
def test_synchronisation(change: dict[str, Any], tmp_path: Path) -> None:
    job = replace(HOST, compute_scale=10.0, **change)
    gone = words(remove=["sync:*DeviceSynchronize", "host:*DeviceSynchronize"])
    check(job, replace(job, sync_every_op=False, sync_each_step=False), gone, tmp_path)


def test_memory_that_is_pinned(tmp_path: Path) -> None:
    job = replace(DEVICE, pinned=False, batch=64, compute_scale=0.3)
    check(job, replace(job, pinned=True), pinned, tmp_path)


def test_a_queue_that_is_full(tmp_path: Path) -> None:
    job = replace(DEVICE, queue_depth=16, optimizer_impl="loop", sync_each_step=True)
    check(job, faster(job), words(scale=["kernel=0.5"]), tmp_path, least=0.2)


def test_links(tmp_path: Path) -> None:
    job = replace(RANKS, link_bandwidth=2e9, comm_latency_ns=0)
    check(job, replace(job, link_bandwidth=8e9), words(scale=["comm=0.25"]), tmp_path, least=0.2)


@pytest.mark.parametrize("bucket", series([4 << 20, 25 << 20], 1))
def test_communication_that_could_be_overlapped(bucket: int, tmp_path: Path) -> None:
    job = replace(RANKS, bucket_bytes=bucket, overlap_comm=False, compute_scale=2.0, link_bandwidth=10e9)
    check(job, replace(job, overlap_comm=True), words(overlap=["comm"]), tmp_path, least=0.1)


def test_allocation_and_profiler(tmp_path: Path) -> None:
    job = replace(HOST, sequence_cycle=2, empty_cache=True)
    check(job, replace(job, empty_cache=False), words(remove=["allocation"]), tmp_path / "allocation", least=0.1)
    job = replace(HOST, buffer_flush_ops=100)
    check(job, replace(job, buffer_flush_ops=0), words(remove=["profiler"]), tmp_path / "profiler", least=0.05)
