"""Files written from device work in order of start."""

from __future__ import annotations

from stepscope.simulate.writers.ascend.cann_events import Api, ApiStatistic
from stepscope.simulate.writers.ascend.communication import Communication, CommunicationFiles
from stepscope.simulate.writers.ascend.device import DeviceTask, InOrder, is_collective
from stepscope.simulate.writers.ascend.kernel_details import KernelDetails
from stepscope.simulate.writers.ascend.kernel_tables import AiCpuTimes, CacheRates, OpStatistic
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.overlap import (
    OverlapTotals,
    StepWindow,
    overlap_events,
    step_at,
    step_table,
    step_times,
)
from stepscope.simulate.writers.ascend.place import RankPlace


class Summaries:
    """The files that the level of the recording has."""

    def __init__(self, place: RankPlace, output: Output) -> None:
        self._place, self._output = place, output
        self._order = InOrder()
        self._steps: list[StepWindow] = []
        self._overlap = OverlapTotals(place)
        self._kernels = KernelDetails(place, output)
        self._operators = OpStatistic(place)
        self._apis = ApiStatistic(place)
        many = place.details and place.job.ranks > 1
        self._files = CommunicationFiles(output) if many else None
        self._communication = Communication(place, self._files.write) if self._files else None
        self._cache = CacheRates(place, output) if place.everything else None
        self._ai_cpu = AiCpuTimes(place) if place.everything else None

    def add(self, step: StepWindow, work: list[DeviceTask], calls: list[Api], until: int) -> None:
        """Take a step; no work of a later one starts before ``until``."""
        self._steps.append(step)
        self._apis.add(calls)
        self._order.add([item for item in work if item.spec.kind in ("compute", "comm")])
        self._release(until)

    def _release(self, until: int) -> None:
        for work in self._order.until(until):
            window = step_at(self._steps, work.start) if self._place.job.mark_steps else None
            step = str(window.number) if window else ""
            self._kernels.add(work, step)
            self._overlap.add(work)
            if is_collective(work):
                if self._communication:
                    self._communication.add(work, step)
                continue
            self._operators.add(work)
            if self._cache and self._ai_cpu:
                self._cache.add(work)
                self._ai_cpu.add(work)

    def finish(self) -> list[str]:
        """Finish the files; returns the events of the trace that show how computing and communication overlap."""
        self._release(1 << 62)
        rows = self._overlap.rows()
        times = step_times(self._place, rows, self._steps)
        self._output.write("step_trace_time.csv", step_table(self._place, times))
        if self._place.details:
            self._operators.write(self._output)
            self._apis.write(self._output)
        if self._communication and self._files:
            self._communication.finish()
            self._files.finish()
        if self._ai_cpu:
            self._ai_cpu.write(self._output)
        return overlap_events(self._place, rows)
