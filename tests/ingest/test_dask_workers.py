"""Ranks read and analysed by Dask: the same report as without, by workers in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from series import WHOLE, rounds
from stepscope.ingest import Options, open_trace
from stepscope.ingest.workers import WorkerDiedError, in_order
from stepscope.model.errors import UserError
from stepscope.reports.build import ReportOptions, build_report
from stepscope.simulate import SimJob, simulate

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address of a scheduler with two workers, one in a sample."""
    folder = tmp_path_factory.mktemp("dask")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        null = subprocess.DEVNULL
        started.append(subprocess.Popen(command, stdout=null, stderr=null, text=True, env=environment, cwd=folder))

    try:
        known = folder / "scheduler.json"
        start("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(known))
        deadline = time.monotonic() + 60
        while not known.exists() or not known.read_text().endswith("}"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        address = json.loads(known.read_text())["address"]
        for _ in range(rounds(2, 1)):
            start("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")
        yield address
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


@pytest.mark.series
def test_the_report_is_the_same_by_dask(scheduler, tmp_path):
    from stepscope.ingest.dask_workers import dask_workers

    simulate(SimJob(ranks=rounds(3, 2), layers=1, steps=2), tmp_path / "job")
    options = ReportOptions(tables=("step_budget", "slow_ranks"), strict=True)
    with dask_workers(scheduler) as workers:
        with open_trace(tmp_path / "job", Options(store=tmp_path / "by dask", workers=workers)) as trace:
            by_dask = build_report(trace, ReportOptions(tables=options.tables, strict=True, workers=workers))
        assert not [note for note in trace.notes if note[1] != "info"]
    with open_trace(tmp_path / "job", Options(store=tmp_path / "here")) as trace:
        here = build_report(trace, options)
    assert by_dask.to_json()["tables"] == here.to_json()["tables"]


def end_unless(path: Path) -> str:
    """End the worker unless a file is there; then the task can be done."""
    if not path.exists():
        path.touch()
        os._exit(1)
    return path.name


def end(path: Path) -> str:
    """End the worker whenever it is tried."""
    if path.name == "worse":
        os._exit(1)
    return path.name


@pytest.mark.series
@pytest.mark.skipif(not WHOLE, reason="each worker that is started anew takes a second; `make series` runs it")
def test_a_worker_that_dies_costs_a_retry_and_a_task_that_ends_all_is_left_out(tmp_path):
    from stepscope.ingest.dask_workers import dask_workers

    with dask_workers("local") as workers:
        [once] = in_order(workers(1, 1), end_unless, [tmp_path / "once"])
        assert once.value == "once"
        good, bad = in_order(workers(2, 1), end, [tmp_path / "good", tmp_path / "worse"])
    assert good.value == "good"
    assert isinstance(bad.error, WorkerDiedError)


def test_an_address_without_a_scheduler_is_an_error(monkeypatch):
    from stepscope.ingest import dask_workers

    monkeypatch.setattr(dask_workers, "_TIMEOUT", "0.2s")
    for where in ("tcp://127.0.0.1:9", "nowhere at all"):
        with pytest.raises(UserError, match="no scheduler"), dask_workers.dask_workers(where):
            pass
