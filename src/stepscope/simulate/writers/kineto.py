"""Writes a rank as ``torch.profiler`` exports it: Chrome trace events with Kineto's fields."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from stepscope.simulate.job import SimJob
from stepscope.simulate.records import (
    ActivityRecord,
    CallRecord,
    DeviceSpanRecord,
    Flow,
    FrameRecord,
    Memory,
    Overhead,
    Past,
    Record,
    Segment,
    SpanRecord,
    Wait,
)
from stepscope.simulate.writers.kineto_document import footer, header
from stepscope.simulate.writers.kineto_events import Events

_CATEGORIES = {
    CallRecord: ("cuda_runtime",),
    Memory: ("cpu_instant_event",),
    Flow: ("fwdbwd", "fwdbwd"),
    DeviceSpanRecord: ("gpu_user_annotation",),
    FrameRecord: ("python_function",),
    Overhead: ("overhead",),
    Segment: (),
    Past: (),
    Wait: (),
}
_ACTIVITIES = {"compute": "kernel", "comm": "kernel", "copy": "gpu_memcpy", "set": "gpu_memset"}


class KinetoWriter:
    """One rank's trace file; holds no more than the records it is given."""

    def __init__(self, job: SimJob, rank: int, out: Path) -> None:
        self._final = out
        self._part = out.with_name(out.name + ".part")
        self.paths = [out]
        self._events = Events(job, rank)
        self._job = job
        self._counts: Counter[str] = Counter()
        self._raw = self._part.open("wb")
        self._file: IO[bytes] = self._raw
        if out.suffix == ".gz":
            self._file = cast(
                "IO[bytes]",
                gzip.GzipFile(filename="", mode="wb", compresslevel=4, fileobj=self._raw, mtime=0),
            )
        self._file.write(header(job, rank).encode())
        self._skipped: set[type] = {Segment, Past, Wait}
        if not job.with_stack:
            self._skipped.add(FrameRecord)
        if not job.profile_memory:
            self._skipped.add(Memory)

    def write(self, records: Sequence[Record]) -> None:
        """Append events; every one ends with a comma, the footer has the last."""
        if self._skipped:
            skipped = self._skipped
            records = [record for record in records if type(record) not in skipped]
        table = self._events.table
        self._file.write("".join([table[type(record)](record) for record in records]).encode())
        self._count(records)

    def _count(self, records: Sequence[Record]) -> None:
        counts = self._counts
        for kind, number in Counter(map(type, records)).items():
            for category in _CATEGORIES.get(kind, ()):
                counts[category] += number
        kinds = Counter([r.spec.kind for r in records if type(r) is ActivityRecord])
        for name, number in kinds.items():
            counts[_ACTIVITIES[name]] += number
        counts["ac2g"] += sum(kinds.values()) + sum([r.launches for r in records if type(r) is CallRecord])
        spans = Counter([r.spec.kind for r in records if type(r) is SpanRecord])
        counts["cpu_op"] += spans["op"]
        counts["user_annotation"] += spans["annotation"]

    def close(self) -> dict[str, int]:
        """Write what follows the events and put the file in its place."""
        self._file.write(footer(self._job, self._events, self._final).encode())
        self._file.close()
        self._raw.close()
        self._part.replace(self._final)
        return {name: count for name, count in sorted(self._counts.items()) if count}

    def abandon(self) -> None:
        """Remove the unfinished file."""
        self._raw.close()
        self._part.unlink(missing_ok=True)
