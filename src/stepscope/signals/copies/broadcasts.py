"""Data that one rank distributes to the others: broadcasts, scatters, and copies to the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.analyses.shared.device_time import device_times
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.signal import Signals, signal

_CALLS_SQL: Final = """
SELECT k.ts, k.ts + k.dur AS stop, coalesce(c.bytes, 0) AS bytes
FROM collectives c JOIN kernels k USING (event)
WHERE c.collective IN ('broadcast', 'scatter') AND k.step IS NOT NULL
"""
_COPIED_SQL: Final = """
SELECT coalesce(sum(c.bytes), 0) FROM copies c JOIN kernels k USING (event)
WHERE c.direction = 'HtoD' AND k.step IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Broadcasts:
    """Broadcasts and scatters on the devices of a rank, as means per step.

    Attributes:
        count: How many.
        bytes: Their sizes.
        exposed_ns: Time in which they ran and nothing was computed.
    """

    count: float
    bytes: int
    exposed_ns: int


@signal()
def broadcasts(s: Signals) -> Broadcasts:
    """Broadcasts and scatters per step."""
    rows = s.trace.columns(_CALLS_SQL)
    if not rows["ts"].size:
        raise MissingInputError(
            "no broadcast or scatter is recorded on a device", hint="record a job of several ranks with its devices"
        )
    running = Intervals.union_of(rows["ts"], rows["stop"])
    exposed = running
    for device in s.trace.once(device_times):
        exposed = exposed - device.compute
    steps = s(recorded_steps)
    return Broadcasts(rows["ts"].size / steps, int(rows["bytes"].sum()) // steps, exposed.total // steps)


@signal("bytes")
def copied_in(s: Signals) -> int:
    """Bytes copied from the host to the device, per step."""
    return int(s.trace.scalar(_COPIED_SQL) or 0) // s(recorded_steps)
