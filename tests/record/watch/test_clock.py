"""The clock of a watched process: waits for batches, and memory in use."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.record.job.report import ProcessReport
from stepscope.record.job.watch import pace as pace_module
from stepscope.record.job.watch.batches import ToldWhenSet
from stepscope.record.job.watch.clock import StepClock
from stepscope.record.job.watch.in_use import MemoryInUse
from stepscope.record.job.watch.pace import StepPace
from stepscope.record.ring.reader import rings_in
from stepscope.record.settings import RecordSettings


def test_what_lies_between_two_passes_over_a_loader_is_no_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: False)))
    now = [1]
    monkeypatch.setattr(pace_module, "perf_counter_ns", lambda: now[0])
    monkeypatch.setattr(StepPace.got, "__defaults__", (lambda: now[0], threading.get_ident))
    clock = StepClock(RecordSettings(str(tmp_path), "", ring=8), ProcessReport(), lambda: "optimizer")

    class Loader:
        _num_yielded: int

        def __init__(self) -> None:
            self._num_yielded = 0

    pace = StepPace(lambda: None, lambda _: None, lambda _: None)
    ToldWhenSet(pace.got).put(Loader)
    loader, loop = Loader(), threading.get_ident()
    for at, step in ((100, lambda: setattr(loader, "_num_yielded", 1)), (1000, Loader)):
        pace.waits_from_here(loop)
        now[0] += at
        step()
    clock.step(1, now[0], 5000, pace.waited(), recorded=False)
    clock.flush()
    [ring] = rings_in(tmp_path / ".watch")
    assert ring.wait_ns == 100


def test_an_allocator_that_keeps_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def memory_stats_as_nested_dict() -> Any:
        asked.append(1)
        raise RuntimeError("CUDAPluggableAllocator does not yet support getDeviceStats")

    memory = SimpleNamespace(memory_stats_as_nested_dict=memory_stats_as_nested_dict)
    cuda = SimpleNamespace(is_initialized=lambda: True, memory=memory)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    used = MemoryInUse()
    assert used.look(1)
    assert used.look(1_000_000_000)
    assert (used.device_bytes, len(asked)) == (0, 1)
    assert (used.host_bytes > 0) == Path("/proc/self/statm").exists()
