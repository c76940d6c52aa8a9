"""The database export of a rank."""

from __future__ import annotations

import json
from pathlib import Path

from stepscope.simulate.writers.ascend.database.device import DeviceTables
from stepscope.simulate.writers.ascend.database.host import HostTables
from stepscope.simulate.writers.ascend.database.memory import MemoryTables
from stepscope.simulate.writers.ascend.database.schema import ENUMS, RENAMED, SCHEMA
from stepscope.simulate.writers.ascend.database.sums import AnalysisDatabase
from stepscope.simulate.writers.ascend.export import ArrangedStep
from stepscope.simulate.writers.ascend.metadata import metadata, write_info
from stepscope.simulate.writers.ascend.place import RankPlace
from stepscope.simulate.writers.export_database import ExportDatabase


class DatabaseExport:
    """Writes a step at a time; holds strings, 16 bytes per kernel, and the blocks of memory that are in use."""

    def __init__(self, place: RankPlace, folder: Path) -> None:
        self._place, self._folder = place, folder
        output = folder / "ASCEND_PROFILER_OUTPUT"
        rank = f"_{place.rank}" if place.job.ranks > 1 else ""
        self._path = path = output / f"ascend_pytorch_profiler{rank}.db"
        self._database = ExportDatabase(path, RENAMED if place.renamed else SCHEMA)
        for name, words in ENUMS.items():
            self._database.table(name).extend((number, word) for word, number in words.items())
        self._host = HostTables(place, self._database)
        self._device = DeviceTables(place, self._database)
        self._memory = MemoryTables(place, self._database) if place.job.profile_memory else None
        self._sums = AnalysisDatabase(place, output) if place.tasks else None
        self._database.flush()

    def step(self, step: ArrangedStep) -> None:
        """Take a step."""
        self._host.add(step)
        self._device.add(step.device)
        if self._memory:
            self._memory.add(step)
        mark = next((o for o in step.host.operators if o.is_step), None)
        if mark is not None:
            row = step.window.number, mark.start + self._place.shift, mark.end + self._place.shift
            self._database.table("STEP_TIME").append(row)
        if self._sums:
            self._sums.add(step.window, step.device.work, step.records.host_end)
        self._database.flush()

    def finish(self, start: int, end: int) -> None:
        """Finish all files."""
        place, table = self._place, self._database.table
        if self._memory:
            self._memory.finish()
        times = start + place.shift, end + place.shift
        table("SESSION_TIME_INFO").append(times)
        table("HOST_INFO").append((str(len(place.host)), place.host))
        table("RANK_DEVICE_MAP").append((place.rank, place.device))
        if place.tasks:
            # The name of the family, as recordings have it.
            table("NPU_INFO").append((place.device, place.device_kind.name[:10]))
            table("AICORE_FREQ").extend((place.device, time, place.megahertz) for time in times)
        facts = {"SCHEMA_VERSION": "1.0.0", **{name: json.dumps(value) for name, value in metadata(place).items()}}
        table("META_DATA").extend(facts.items())
        self._database.close()
        if self._sums:
            self._sums.finish()
        if place.only_sums:
            self._path.unlink()
        write_info(place, self._folder, end, "db")

    def abandon(self) -> None:
        """Release the files."""
        self._database.abandon()
        if self._sums:
            self._sums.abandon()
