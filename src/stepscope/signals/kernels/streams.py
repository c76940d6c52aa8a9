"""Queues of one device that could run at the same time and don't."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.shared.needs import need_calls, need_device
from stepscope.analyses.shared.peaks import LIMITS_SQL
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import names_by_id
from stepscope.model.intervals import Intervals
from stepscope.model.runtime_names import is_stream_wait
from stepscope.signals.shared.job import step_share
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal

_KERNELS_SQL: Final = f"""
SELECT k.event, k.ts, k.dur, k.track, coalesce(k.device, -1) AS device,
    k.launch_ts + coalesce(k.launch_dur, 0) AS launched, k.grid[1]::DOUBLE * k.grid[2] * k.grid[3] / d.sms AS fill
FROM activities k JOIN ({LIMITS_SQL}) d ON d.device IS NOT DISTINCT FROM k.device
WHERE k.kind = 'compute' AND k.graph IS NULL AND k.grid IS NOT NULL AND d.sms > 0 AND k.launch_ts IS NOT NULL
ORDER BY k.track, k.ts, k.event
"""
#: From launch to start on an idle queue it takes some microseconds.
_LATENCY_NS: Final = 10_000
#: Kernels with blocks for less than this part of the SMs leave room for others.
_ROOM: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """Kernels that waited at the head of their queue while another queue left room.

    Attributes:
        event: int64[n].
        waited: int64[n], how long.
        queues: Number of queues with compute on the device.
        of_step: Their waits as a share of the recorded steps.
    """

    event: Ids
    waited: Ids
    queues: int
    of_step: float


@signal()
def apart(s: Signals) -> Apart:
    """Small kernels that wait for another queue which leaves room for them."""
    need_device(s.trace)
    need_calls(s.trace)
    if any(is_stream_wait(name) for name in s.trace.once(names_by_id).values()):
        raise MissingInputError(
            "queues of the job wait for each other, and the recording does not say which kernel for which",
            hint="look at the timeline for work that could run side by side",
        )
    rows = s.trace.columns(_KERNELS_SQL)
    events, waits, queues = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    small = rows["fill"] < _ROOM
    for index in np.unique(rows["device"]).tolist():
        tracks = np.unique(rows["track"][rows["device"] == index]).tolist()
        queues = max(queues, len(tracks))
        for track in tracks if len(tracks) > 1 else []:
            mine = np.flatnonzero(rows["track"] == track)
            others = np.flatnonzero((rows["device"] == index) & (rows["track"] != track) & small)
            ts, ends = rows["ts"][mine], rows["ts"][mine] + rows["dur"][mine]
            free = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(ends)[:-1])
            ready = np.maximum(rows["launched"][mine] + _LATENCY_NS, free)
            taken = Intervals.union_of(rows["ts"][others], rows["ts"][others] + rows["dur"][others])
            waited = np.where(small[mine], taken.within(ready, np.maximum(ts, ready)), 0)
            events.append(rows["event"][mine[waited > 0]])
            waits.append(waited[waited > 0])
    waited = np.concatenate(waits)
    return Apart(np.concatenate(events), waited, queues, step_share(s, waited.sum()))
