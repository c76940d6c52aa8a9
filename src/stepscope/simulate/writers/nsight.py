"""Writes a rank as ``nsys export --type sqlite`` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stepscope.simulate.job import SimJob
from stepscope.simulate.records import (
    ActivityRecord,
    CallRecord,
    FrameRecord,
    Memory,
    Overhead,
    Past,
    Record,
    Segment,
    SpanRecord,
    Wait,
)
from stepscope.simulate.specs import Collective
from stepscope.simulate.writers.export_database import ExportDatabase
from stepscope.simulate.writers.nsight_device import DeviceRows
from stepscope.simulate.writers.nsight_host import HostRows
from stepscope.simulate.writers.nsight_identity import GLOBAL_VM, Identity
from stepscope.simulate.writers.nsight_machine import write_process, write_session, write_variables
from stepscope.simulate.writers.nsight_nccl import declare
from stepscope.simulate.writers.nsight_schema import SCHEMA


class NsightWriter:
    """One rank's export; holds no more than the records it is given."""

    def __init__(self, job: SimJob, rank: int, out: Path, session: int | None = None) -> None:
        """Start the export of ``rank``, as its own session or in that of the rank ``session`` of the same host."""
        self._job, self._rank = job, rank
        self._session = rank if session is None else session
        self._alone = session is None
        self._final = out
        self._part = part_of(out, rank)
        self._part.unlink(missing_ok=True)
        self.paths = [out] if rank == self._session else []
        self._who = Identity.of(job, rank, self._session)
        # Ranks of one export have strings of their own.
        self._database = ExportDatabase(self._part, SCHEMA, first_string=(rank - self._session) << 32)
        self._host = HostRows(job, self._database, self._who)
        self._device = DeviceRows(self._database, self._who)
        self._collective: Collective | None = None
        self._correlation = 0
        self._last = 0
        self._table = self._handlers()
        self._introduce()

    def _introduce(self) -> None:
        """Write the tables known before the first record."""
        job, database, who, rank = self._job, self._database, self._who, self._rank
        if rank == self._session:
            write_session(job, database, who, rank)
        write_process(job, database, who)
        if job.ranks > 1:
            declare(job, rank, database, who)
            if self._alone:
                write_variables(job, database, rank)

    def _handlers(self) -> dict[type, Callable[[Any], None]]:
        """Handlers of records by type; an export has no place for other records."""
        host, job = self._host, self._job
        handlers: dict[type, Callable[[Any], None]] = {
            SpanRecord: self._span,
            CallRecord: self._call,
            Wait: host.wait,
            ActivityRecord: self._activity,
            Overhead: host.overhead,
        }
        if job.with_stack:
            handlers[FrameRecord] = host.frame
        if job.profile_memory:
            handlers |= {Segment: self._segment, Past: self._past}
        return handlers

    def write(self, records: Sequence[Record]) -> None:
        """Add rows to the tables."""
        table = self._table
        for record in records:
            handle = table.get(type(record))
            if handle is not None:
                handle(record)
        self._database.flush()

    def _past(self, past: Past) -> None:
        self.write([record for record in past.records if not isinstance(record, Memory)])

    def _span(self, r: SpanRecord) -> None:
        self._host.span(r)
        if r.spec.name.startswith("nccl:") and self._collective is not None:
            self._host.collective(r, self._collective)
        self._last = max(self._last, r.end)

    def _call(self, r: CallRecord) -> None:
        self._host.call(r)
        self._device.call(r)
        self._correlation = r.correlation
        self._last = max(self._last, r.end)

    def _activity(self, r: ActivityRecord) -> None:
        self._device.activity(r)
        self._collective = r.spec.collective or self._collective
        self._last = max(self._last, r.end)

    def _segment(self, r: Segment) -> None:
        # The call before it was the one for it.
        self._device.segment(r, self._correlation)

    def close(self) -> dict[str, int]:
        """Write how long it took, and put the file in its place."""
        database, end = self._database, self._last + self._who.shift
        if self._rank == self._session:
            database.table("ANALYSIS_DETAILS").append((GLOBAL_VM, end, 0, end))
        database.close()
        counts = {name: count for name, count in sorted(database.counts.items()) if _is_event(name)}
        if self._alone:
            self._part.replace(self._final)
        return counts

    def abandon(self) -> None:
        """Remove the unfinished file."""
        self._database.abandon()
        self._part.unlink(missing_ok=True)


def part_of(out: Path, rank: int) -> Path:
    """The unfinished file of a rank."""
    return out.with_name(f"{out.name}.{rank}.part")


def _is_event(table: str) -> bool:
    return table.startswith(("CUPTI_", "CUDA_", "NVTX_EVENTS", "OSRT_API"))
