"""Writes a rank's folder, a step at a time."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from stepscope.simulate.job import SimJob
from stepscope.simulate.records import Record
from stepscope.simulate.writers.ascend.cann_events import api_calls
from stepscope.simulate.writers.ascend.database.export import DatabaseExport
from stepscope.simulate.writers.ascend.device import DeviceStep, Streams
from stepscope.simulate.writers.ascend.export import ArrangedStep, Export
from stepscope.simulate.writers.ascend.host import AscendHostStep, arrange
from stepscope.simulate.writers.ascend.overlap import StepWindow
from stepscope.simulate.writers.ascend.place import RankPlace
from stepscope.simulate.writers.ascend.steps import StepCollector, StepRecords
from stepscope.simulate.writers.ascend.text import TextExport


class AscendWriter:
    """One rank's folder with an export; holds the records of one step, and what the export does."""

    def __init__(self, job: SimJob, rank: int, out: Path, make: Callable[[RankPlace, Path], Export]) -> None:
        self.paths = [out]
        self._part = out.with_name(out.name + ".part")
        self._place = RankPlace.of(job, rank)
        shutil.rmtree(self._part, ignore_errors=True)
        (self._part / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
        self._export = make(self._place, self._part)
        self._steps, self._streams = StepCollector(), Streams(self._place)
        self._counts: Counter[str] = Counter()
        self._span = [1 << 62, 0]

    def write(self, records: Sequence[Record]) -> None:
        """Take further records; whole steps are written."""
        for step in self._steps.add(records):
            self._step(step)

    def _step(self, records: StepRecords) -> None:
        place = self._place
        host = arrange(place, records)
        device = self._streams.arrange(records, host) if place.tasks else DeviceStep([], [])
        calls = api_calls(place, host) if place.tasks else []
        window = _window(records, host, device)
        self._export.step(ArrangedStep(records, host, device, calls, window))
        self._count(records, host, device)
        self._span = [min(self._span[0], window.host_start), max(self._span[1], window.end, records.host_end)]

    def _count(self, records: StepRecords, host: AscendHostStep, device: DeviceStep) -> None:
        self._counts["cpu_op"] += len(host.operators)
        self._counts["enqueue"] += len(host.tasks)
        self._counts["dequeue"] += len(host.tasks)
        if self._place.job.with_stack:
            self._counts["python_function"] += len(records.frames)
        for work in device.work:
            self._counts[{"compute": "kernel", "comm": "collective"}.get(work.spec.kind, work.spec.kind)] += 1

    def close(self) -> dict[str, int]:
        """Finish all files and put the folder in its place."""
        for step in self._steps.last():
            self._step(step)
        self._export.finish(min(self._span), self._span[1])
        out = self.paths[0]
        shutil.rmtree(out, ignore_errors=True)
        self._part.rename(out)
        return {name: count for name, count in sorted(self._counts.items()) if count}

    def abandon(self) -> None:
        """Remove the unfinished folder."""
        self._export.abandon()
        shutil.rmtree(self._part, ignore_errors=True)


def text_writer(job: SimJob, rank: int, out: Path) -> AscendWriter:
    """The writer of a rank's JSON and CSV files."""
    return AscendWriter(job, rank, out, TextExport)


def database_writer(job: SimJob, rank: int, out: Path) -> AscendWriter:
    """The writer of a rank's databases."""
    return AscendWriter(job, rank, out, DatabaseExport)


def _window(records: StepRecords, host: AscendHostStep, device: DeviceStep) -> StepWindow:
    """The step's window on the device; without a mark of the step, from its first operator on."""
    mark = next((o for o in host.operators if o.is_step), None)
    first = host.operators[0].start if host.operators else records.host_end
    start, end = (mark.start, mark.end) if mark else (first, records.host_end)
    if not device.work:
        return StepWindow(records.number, start, start, end)
    last = device.work[-1].call.correlation
    done = max(work.end for work in device.work if work.call.correlation == last)
    return StepWindow(records.number, start, device.work[0].start, max(done, end))
