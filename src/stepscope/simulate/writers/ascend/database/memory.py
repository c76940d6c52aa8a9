"""Blocks of memory, totals at every change, and samples of the process and of modules."""

from __future__ import annotations

from stepscope.simulate.records import Memory
from stepscope.simulate.writers.ascend.database.schema import MODULES
from stepscope.simulate.writers.ascend.export import ArrangedStep
from stepscope.simulate.writers.ascend.memory import COMPONENTS, STREAM, BlockRow, Blocks, Samples
from stepscope.simulate.writers.ascend.place import RankPlace
from stepscope.simulate.writers.export_database import ExportDatabase


class MemoryTables:
    """Rows of a step; holds the blocks that are in use."""

    def __init__(self, place: RankPlace, database: ExportDatabase) -> None:
        self._place, self._database = place, database
        self._blocks, self._samples = Blocks(), Samples(place)

    def add(self, step: ArrangedStep) -> None:
        """Take a step."""
        records = step.records
        self._write(self._blocks.add(records.memory, step.host.operators))
        changes = [record for record in records.memory if isinstance(record, Memory)]
        totals = self._database.table("MEMORY_RECORD")
        for change in changes:
            self._sample(change.ts, change.reserved)
            held = change.allocated, change.reserved, change.allocated
            time = change.ts + self._place.shift
            totals += [(self._database.text(part), time, *held, STREAM, self._place.device) for part in COMPONENTS]
        if changes:
            self._sample(records.host_end, changes[-1].reserved)

    def _sample(self, until: int, reserved: int) -> None:
        text, place = self._database.text, self._place
        for time, modules, whole in self._samples.until(until, reserved):
            stamp = time + place.shift
            row = text("APP"), stamp, None, whole, None, None, place.device
            self._database.table("MEMORY_RECORD").append(row)
            self._database.table("NPU_MEM").append((text("app"), 0, whole, stamp, place.device))
            rows = self._database.table("NPU_MODULE_MEM")
            rows += [(MODULES[name], stamp, size, place.device) for name, size in modules.items()]

    def _write(self, blocks: list[BlockRow]) -> None:
        rows = self._database.table("OP_MEMORY")
        shift = self._place.shift
        for name, taken, freed in blocks:
            after: tuple[int | None, ...] = (None,) * 7
            if freed is not None:
                time, lived = freed.ts + shift, freed.ts - taken.ts
                after = (time, time, lived, lived, freed.allocated, freed.reserved, freed.allocated)
            before = taken.allocated, taken.reserved, taken.allocated
            rows.append(
                (
                    self._database.text(name), taken.bytes, taken.ts + shift, *after[:4], *before, *after[4:], STREAM,
                    self._place.device,
                )
            )  # fmt: skip

    def finish(self) -> None:
        """Write the blocks that are still held."""
        self._write(self._blocks.rest())
