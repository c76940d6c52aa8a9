"""The text export: JSON and CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepscope.simulate.writers.ascend import cann_events, events
from stepscope.simulate.writers.ascend.device_events import device_events
from stepscope.simulate.writers.ascend.export import ArrangedStep
from stepscope.simulate.writers.ascend.host_events import flow_to_work, host_events
from stepscope.simulate.writers.ascend.layers import cann_layers, framework_layers
from stepscope.simulate.writers.ascend.memory import Blocks, MemoryRecord, OperatorMemory
from stepscope.simulate.writers.ascend.metadata import write_metadata
from stepscope.simulate.writers.ascend.operator_details import OperatorDetails
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.place import FREQUENCY, RankPlace
from stepscope.simulate.writers.ascend.summaries import Summaries

#: Files of a rank with sums only.
_SUMS: Final = ("step_trace_time.csv", "communication.json", "communication_matrix.json")


class TextExport:
    """Writes as it goes; holds 16 bytes per kernel, and the blocks of memory that are in use."""

    def __init__(self, place: RankPlace, folder: Path) -> None:
        self._place, self._folder = place, folder
        self._output = output = Output(folder / "ASCEND_PROFILER_OUTPUT")
        self._trace = events.TraceFile(output)
        self._trace.framework(framework_layers(place))
        self._trace.cann(cann_layers(place))
        self._operators = OperatorDetails(place, output)
        memory = place.job.profile_memory
        self._blocks = Blocks()
        self._held = OperatorMemory(place, output) if memory else None
        self._totals = MemoryRecord(place, output) if memory else None
        self._summaries = Summaries(place, output) if place.tasks else None

    def step(self, step: ArrangedStep) -> None:
        """Take a step."""
        place, records, host, device = self._place, step.records, step.host, step.device
        texts = host_events(place, host, records)
        texts += [text for work in device.work for text in flow_to_work(place, work)]
        self._trace.framework(texts)
        if place.details:
            self._trace.cann(cann_events.api_events(place, step.calls))
        self._trace.cann(device_events(place, device, host))
        self._operators.add(host.operators)
        if self._held and self._totals:
            self._held.write(self._blocks.add(records.memory, host.operators))
            self._trace.cann(self._totals.add(records.memory, records.host_end))
        if self._summaries:
            self._summaries.add(step.window, device.work, step.calls, records.host_end)

    def finish(self, start: int, end: int) -> None:
        """Finish all files."""
        place = self._place
        if self._summaries:
            pid, clock = place.process(FREQUENCY), {"MHz": place.megahertz}
            samples = [events.counter("AI Core Freq", pid, place.stamp(time), clock) for time in (start, end)]
            self._trace.cann(samples + self._summaries.finish())
        self._trace.join()
        if self._held:
            self._held.write(self._blocks.rest())
        self._output.close()
        write_metadata(place, self._folder, end)
        if place.only_sums:
            self._leave_sums()

    def _leave_sums(self) -> None:
        """Remove all but what clusters keep of most ranks."""
        for file in self._output.folder.iterdir():
            if file.name not in _SUMS:
                file.unlink()

    def abandon(self) -> None:
        """Release the files."""
        self._output.close()
