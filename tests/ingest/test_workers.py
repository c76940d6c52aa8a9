"""Tasks on workers: their order, their errors, and workers that die."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.ingest.workers import Outcome, WorkerDiedError, Workers, in_order, processes
from stepscope.model.sizes import SIZES

GB = 1 << 30


def task(item: tuple[str, str]) -> str:
    """`die` ends the process, `die once` only where its file isn't there yet, `fail` raises."""
    kind, path = item
    if kind == "die" or (kind == "die once" and not Path(path).exists()):
        Path(path).touch()
        os._exit(1)
    if kind == "fail":
        raise ValueError(path)
    return path


def told(outcome: Outcome[tuple[str, str], str]) -> str:
    return outcome.value or type(outcome.error).__name__


def test_outcomes_come_in_order_and_a_task_that_ends_its_workers_is_the_only_one_lost(tmp_path):
    items = [("", "a"), ("fail", "b"), ("die", str(tmp_path / "x")), ("", "c"), ("die once", str(tmp_path / "y"))]
    items += [("", name) for name in "defgh"]
    with SIZES.changed(workers=1), processes(len(items), 1) as workers:
        found = [told(outcome) for outcome in in_order(workers, task, items)]
    assert found == ["a", "ValueError", WorkerDiedError.__name__, "c", str(tmp_path / "y"), *"defgh"]


def test_few_results_wait_at_a_time():
    taken: list[int] = []

    class Inline:
        def submit(self, function, item):
            from concurrent.futures import Future

            future: Future[int] = Future()
            future.set_result(function(item))
            return future

        def shutdown(self, **_: object) -> None:
            pass

    def items():
        for item in range(20):
            taken.append(item)
            yield item

    with Workers(2, Inline) as workers:  # type: ignore[arg-type]
        for number, outcome in enumerate(in_order(workers, abs, items())):
            assert outcome.value == number
            assert len(taken) <= number + 4


@pytest.mark.parametrize(
    ("tasks", "memory", "cores", "free", "size"),
    [(100, GB, 8, 64 * GB, 8), (3, GB, 8, 64 * GB, 3), (100, 20 * GB, 8, 64 * GB, 3), (100, GB, 8, 0, 1)],
    ids=["cores", "tasks", "memory", "no memory"],
)
def test_processes_are_bounded_by_cores_memory_and_tasks(tasks, memory, cores, free, size, monkeypatch):
    monkeypatch.setattr("stepscope.ingest.workers.cores", lambda: cores)
    monkeypatch.setattr("stepscope.ingest.workers.available_memory", lambda: free)
    assert processes(tasks, memory).size == size


def test_a_size_overrides_what_the_machine_has():
    with SIZES.changed(workers=5):
        assert processes(100, GB).size == 5


def test_a_script_without_a_guard_runs_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from stepscope.ingest.workers import in_order, processes\n"
        "print('ran')\n"
        "with processes(2, 1) as workers:\n"
        "    print([outcome.value for outcome in in_order(workers, abs, [-1, -2])])\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("ran\n[1, 2]\n", "")
