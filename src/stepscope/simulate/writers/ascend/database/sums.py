"""``analysis.db``: times of steps, and what collectives did on which link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stepscope.simulate.writers.ascend.collectives import group_number
from stepscope.simulate.writers.ascend.communication import Communication, Entry
from stepscope.simulate.writers.ascend.database.schema import ANALYSIS, ANALYSIS_RENAMED
from stepscope.simulate.writers.ascend.device import DeviceTask, InOrder, is_collective
from stepscope.simulate.writers.ascend.overlap import OverlapTotals, StepRow, StepWindow, step_at, step_times
from stepscope.simulate.writers.ascend.place import RankPlace
from stepscope.simulate.writers.export_database import ExportDatabase


class AnalysisDatabase:
    """Sums, of collectives from level 1 on."""

    def __init__(self, place: RankPlace, folder: Path) -> None:
        self._place = place
        self._database = ExportDatabase(folder / "analysis.db", ANALYSIS_RENAMED if place.renamed else ANALYSIS)
        self._order, self._overlap = InOrder(), OverlapTotals(place)
        self._steps: list[StepWindow] = []
        many = place.details and place.job.ranks > 1
        self._communication = Communication(place, self._collectives) if many else None

    def add(self, step: StepWindow, work: list[DeviceTask], until: int) -> None:
        """Take a step; no work of a later one starts before ``until``."""
        self._steps.append(step)
        self._order.add([item for item in work if item.spec.kind in ("compute", "comm")])
        self._release(until)

    def _release(self, until: int) -> None:
        for work in self._order.until(until):
            self._overlap.add(work)
            if self._communication and is_collective(work):
                window = step_at(self._steps, work.start) if self._place.job.mark_steps else None
                self._communication.add(work, str(window.number) if window else "")

    def _collectives(self, step: str, operations: dict[str, Entry], matrix: dict[str, dict[str, Entry]]) -> None:
        group, last = str(group_number()), (step, "collective")
        for key, entry in operations.items():
            name = key.partition("@")[0]
            times = list(entry["Communication Time Info"].values())[:6]
            self._database.table("CommAnalyzerTime").append((name, group, *times, *last))
            for link, found in entry["Communication Bandwidth Info"].items():
                *sums, packets = found.values()
                sizes: dict[str, list[Any]] = packets or {"0": [0, 0]}
                self._database.table("CommAnalyzerBandwidth").extend(
                    (name, group, link, *sums, float(size), *counted, *last) for size, counted in sizes.items()
                )
        rows = self._database.table("CommAnalyzerMatrix")
        for key, links in matrix.items():
            for pair, entry in links.items():
                name, ends = key.partition("@")[0], pair.split("-")
                sums = [entry[c] for c in ("Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)")]
                row = name, group, *ends, entry["Transport Type"], *sums, *last, entry.get("Op Name")
                rows.append(row)
        self._database.flush()

    def finish(self) -> None:
        """Finish the file."""
        self._release(1 << 62)
        if self._communication:
            self._communication.finish()
        rows = self._database.table("StepTraceTime")
        device = (self._place.device,) if self._place.renamed else ()
        rows += [(*device, *_row(step)) for step in step_times(self._place, self._overlap.rows(), self._steps)]
        self._database.close()

    def abandon(self) -> None:
        """Release the file."""
        self._database.abandon()


def _row(step: StepRow) -> tuple[Any, ...]:
    """A step's times in µs, as the text export has them."""
    label, *times, preparing = step
    return label, *[time / 1000 for time in times], 0, step.exposed / 1000, preparing / 1000
