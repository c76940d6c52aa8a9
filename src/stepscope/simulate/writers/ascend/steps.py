"""Gather a rank's records until a step is complete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stepscope.simulate.records import (
    ActivityRecord,
    CallRecord,
    Flow,
    FrameRecord,
    Memory,
    Record,
    Segment,
    SpanRecord,
)


@dataclass(slots=True)
class StepRecords:
    """Records of one step; times are the job's.

    Attributes:
        number: the step's number.
        host_end: when the host had done with everything in it.
    """

    number: int
    spans: list[SpanRecord] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    activities: list[ActivityRecord] = field(default_factory=list)
    memory: list[Memory | Segment] = field(default_factory=list)
    frames: list[FrameRecord] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    host_end: int = 0


class StepCollector:
    """Hands on whole steps; holds no more than one."""

    def __init__(self) -> None:
        self._current: StepRecords | None = None

    def add(self, records: Sequence[Record]) -> Iterator[StepRecords]:
        """Take further records; yields a step once a record of the next one arrives."""
        for record in records:
            number = getattr(record, "step", None)
            step = self._current
            if step is None:
                step = self._current = StepRecords(number or 0)
            if number is not None and number != step.number:
                yield step
                step = self._current = StepRecords(number)
            _file(step, record)

    def last(self) -> Iterator[StepRecords]:
        """The last step, if there is any."""
        if self._current is not None:
            yield self._current
            self._current = None


def _file(step: StepRecords, record: Record) -> None:
    if isinstance(record, ActivityRecord):
        step.activities.append(record)
        return
    if isinstance(record, SpanRecord):
        step.spans.append(record)
    elif isinstance(record, CallRecord):
        step.calls.append(record)
    elif isinstance(record, (Memory, Segment)):
        step.memory.append(record)
        return
    elif isinstance(record, FrameRecord):
        step.frames.append(record)
    elif isinstance(record, Flow):
        step.flows.append(record)
        return
    else:
        return
    step.host_end = max(step.host_end, record.end)
