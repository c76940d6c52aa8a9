"""Series made of samples: levels as they are, and rates from one sample to the next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from stepscope.readers.machine.job_series import files, job, ranks
from stepscope.readers.machine.machine_series import disks, memory, network, pressure, processors
from stepscope.readers.machine.values import entries, number
from stepscope.readers.untrusted import short_text

#: By name in the file: series, unit, and what its values are multiplied by.
_DEVICE: Final = {
    "busy": ("busy", "share", 0.01),
    "memory_busy": ("memory busy", "share", 0.01),
    "memory_used": ("memory used", "bytes", 1.0),
    "memory_share": ("memory used", "share", 0.01),
    "power": ("power", "W", 1.0),
    "clock": ("clock", "MHz", 1.0),
    "memory_clock": ("memory clock", "MHz", 1.0),
    "temperature": ("temperature", "degrees", 1.0),
}
#: Reasons for a lower clock, the same wherever they come from.
_REASONS: Final = 16


class Value(NamedTuple):
    """A number of a series.

    Attributes:
        ts: Unix time in ns: of a level, or of the start of a rate.
        subject: What was measured.
        series: What of it.
        unit: Of the value.
        value: The number.
    """

    ts: int
    subject: str
    series: str
    unit: str
    value: float


@dataclass(slots=True)
class SeriesMaker:
    """Makes series of samples in time order.

    Args:
        head: What the file's first line says of the machine.
    """

    head: dict[str, Any]
    _before: dict[str, Any] | None = None

    def of(self, sample: dict[str, Any]) -> Iterator[Value]:
        """The numbers that one more sample gives."""
        now: int = sample["unix_ns"]
        for subject, series, unit, value in _levels(sample, self.head):
            yield Value(now, subject, series, unit, value)
        before, self._before = self._before, sample
        if before is None:
            return
        since: int = before["unix_ns"]
        seconds = (now - since) / 1e9
        for rates in (processors, disks, network, pressure, memory, job, ranks):
            for subject, series, unit, value in rates(before, sample, seconds, self.head):
                yield Value(since, subject, series, unit, value)


def _levels(sample: dict[str, Any], head: dict[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    yield "recording", "on", "count", float(sample.get("recording") is True)
    yield from files(sample, head)
    for device, values in entries(sample.get("devices")):
        if not device.isdecimal():
            continue
        for name, value in entries(values):
            known, measured = _DEVICE.get(name), number(value)
            if known and measured is not None:
                yield f"device {device}", known[0], known[1], measured * known[2]
        reasons = values.get("throttled") if isinstance(values, dict) else None
        if isinstance(reasons, str):
            yield f"device {device}", "throttled", "share", float(bool(reasons))
            for reason in reasons.split(", ")[:_REASONS]:
                if short := short_text(reason, 40):
                    yield f"device {device}", f"throttled: {short}", "share", 1.0
