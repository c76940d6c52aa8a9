"""Convert true times to recorded ones: device clock and resolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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

_MILLION: Final = 1_000_000
#: Records of device work, and of data that only a framework records.
_ON_DEVICE: Final = (ActivityRecord, DeviceSpanRecord)
_OF_FRAMEWORK: Final = (SpanRecord, Flow, DeviceSpanRecord, FrameRecord)


class Lens:
    """Converts the records of a job to what its profiler records."""

    def __init__(self, job: SimJob) -> None:
        self._offset, self._ppm, self._tick = job.device_clock_ns, job.device_clock_ppm, job.clock_tick_ns
        self._framework = job.framework
        self._clear = (self._offset, self._ppm, self._tick, self._framework) == (0, 0.0, 1, True)

    def seen(self, records: Sequence[Record]) -> Sequence[Record]:
        """The records as recorded."""
        if self._clear:
            return records
        return [self._one(r) for r in records if self._framework or not isinstance(r, _OF_FRAMEWORK)]

    def _one(self, record: Record) -> Record:
        if isinstance(record, Past):
            return Past(tuple(self._one(one) for one in record.records))  # type: ignore[misc]
        at = self._of_device if isinstance(record, _ON_DEVICE) else self._of_host
        if isinstance(record, (Memory, Segment)):
            return record._replace(ts=at(record.ts))
        if isinstance(
            record, (SpanRecord, CallRecord, Wait, ActivityRecord, Flow, DeviceSpanRecord, FrameRecord, Overhead)
        ):
            return record._replace(start=at(record.start), end=at(record.end))
        return record

    def _of_host(self, time: int) -> int:
        return time - time % self._tick

    def _of_device(self, time: int) -> int:
        return self._of_host(time + self._offset + int(time * self._ppm) // _MILLION)
