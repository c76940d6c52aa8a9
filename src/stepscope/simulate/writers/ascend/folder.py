"""Writes a rank's folder, a step at a time."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stepscope.simulate.job import SimJob
from stepscope.simulate.records import Record
from stepscope.simulate.writers.ascend import cann_events, events
from stepscope.simulate.writers.ascend.device import DeviceStep, Streams
from stepscope.simulate.writers.ascend.device_events import device_events
from stepscope.simulate.writers.ascend.host import AscendHostStep, arrange
from stepscope.simulate.writers.ascend.host_events import flow_to_work, host_events
from stepscope.simulate.writers.ascend.layers import cann_layers, framework_layers
from stepscope.simulate.writers.ascend.memory import MemoryRecord, OperatorMemory
from stepscope.simulate.writers.ascend.metadata import write_metadata
from stepscope.simulate.writers.ascend.operator_details import OperatorDetails
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.overlap import StepWindow
from stepscope.simulate.writers.ascend.place import FREQUENCY, RankPlace
from stepscope.simulate.writers.ascend.steps import StepCollector, StepRecords
from stepscope.simulate.writers.ascend.summaries import Summaries

#: Files of a rank with sums only.
_SUMS: Final = ("step_trace_time.csv", "communication.json", "communication_matrix.json")


class AscendWriter:
    """One rank's folder; holds the records of one step, and 16 bytes per kernel."""

    def __init__(self, job: SimJob, rank: int, out: Path) -> None:
        self.paths = [out]
        self._part = out.with_name(out.name + ".part")
        self._place = place = RankPlace.of(job, rank)
        self._output = output = Output(self._part / "ASCEND_PROFILER_OUTPUT")
        shutil.rmtree(self._part, ignore_errors=True)
        output.folder.mkdir(parents=True)
        self._steps, self._streams = StepCollector(), Streams(place)
        self._trace = events.TraceFile(output)
        self._trace.framework(framework_layers(place))
        self._trace.cann(cann_layers(place))
        self._operators = OperatorDetails(place, output)
        self._blocks = OperatorMemory(place, output) if job.profile_memory else None
        self._totals = MemoryRecord(place, output) if job.profile_memory else None
        self._summaries = Summaries(place, output)
        self._counts: Counter[str] = Counter()
        self._span = [1 << 62, 0]

    def write(self, records: Sequence[Record]) -> None:
        """Take further records; whole steps are written."""
        for step in self._steps.add(records):
            self._step(step)

    def _step(self, records: StepRecords) -> None:
        place = self._place
        host = arrange(place, records)
        device = self._streams.arrange(records, host)
        calls = cann_events.api_calls(place, host)
        texts = host_events(place, host, records)
        texts += [text for work in device.work for text in flow_to_work(place, work)]
        self._trace.framework(texts)
        if place.details:
            self._trace.cann(cann_events.api_events(place, calls))
        self._trace.cann(device_events(place, device, host))
        self._operators.add(host.operators)
        if self._blocks and self._totals:
            self._blocks.add(records.memory, host.operators)
            self._trace.cann(self._totals.add(records.memory, records.host_end))
        window = _window(records, host, device)
        self._summaries.add(window, device.work, calls, records.host_end)
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
        start, end = min(self._span[0], self._span[1]), self._span[1]
        pid = self._place.process(FREQUENCY)
        clock = {"MHz": self._place.megahertz}
        for time in (start, end):
            self._trace.cann([events.counter("AI Core Freq", pid, self._place.stamp(time), clock)])
        self._trace.cann(self._summaries.finish())
        self._trace.join()
        if self._blocks:
            self._blocks.finish()
        self._output.close()
        write_metadata(self._place, self._part, end)
        if 0 <= self._place.job.sums_from_rank <= self._place.rank:
            self._leave_sums()
        out = self.paths[0]
        shutil.rmtree(out, ignore_errors=True)
        self._part.rename(out)
        return {name: count for name, count in sorted(self._counts.items()) if count}

    def _leave_sums(self) -> None:
        """Remove all but what clusters keep of most ranks: a timeline of each would fill their disks."""
        for file in self._output.folder.iterdir():
            if file.name not in _SUMS:
                file.unlink()

    def abandon(self) -> None:
        """Remove the unfinished folder."""
        self._output.close()
        shutil.rmtree(self._part, ignore_errors=True)


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
