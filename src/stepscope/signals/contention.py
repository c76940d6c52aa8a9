"""Compute and communication that run at the same time, and slow each other down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.device_time import device_times
from stepscope.analyses.grouping import Groups
from stepscope.model.errors import MissingInputError
from stepscope.signals.signal import Signals, signal

_SQL: Final = """
SELECT k.event, k.ts, k.dur, coalesce(k.device, -1)::INTEGER AS device, hash(k.name, k.grid, i.shapes) AS kind
FROM kernels k JOIN op_inputs i ON i.event = k.op
WHERE k.op_class IN ('gemm', 'attention', 'convolution') AND k.dur > 0 AND i.shapes IS NOT NULL
ORDER BY k.ts, k.event
"""
#: Fewer of a kind beside communication or without it do not make a median.
_LEAST: Final = 3


@dataclass(frozen=True, slots=True)
class Crowded:
    """The n kernels of matrix units that ran beside collectives, with what equal ones take without.

    Attributes:
        event: int64[n].
        dur: int64[n].
        alone: int64[n], median of equal kernels beside which no collective ran.
        overlap: float64[n], share of its duration in which one ran.
    """

    event: NDArray[np.int64]
    dur: NDArray[np.int64]
    alone: NDArray[np.int64]
    overlap: NDArray[np.float64]

    @property
    def slowdown(self) -> float:
        """By how much they take longer, as a share of what they would take alone."""
        return float(self.dur.sum()) / float(self.alone.sum()) - 1 if self.event.size else 0.0


@signal()
def crowded(s: Signals) -> Crowded:
    """Kernels of matrix units that ran beside collectives for most of their time, with what equal ones take alone."""
    rows = s.trace.columns(_SQL)
    if not rows["event"].size:
        raise MissingInputError(
            "the recording has no matrix multiplications with the shapes of their inputs",
            hint="record with record_shapes=True",
        )
    share = np.zeros(rows["event"].size)
    for device in s.trace.once(device_times):
        mine = rows["device"] == (-1 if device.device is None else device.device)
        ts, dur = rows["ts"][mine], rows["dur"][mine]
        share[mine] = device.comm.within(ts, ts + dur) / dur
    groups = Groups.by(np.unique(rows["kind"], return_inverse=True)[1])
    free, busy = share == 0.0, share > 0.5
    alone = _medians(groups, rows["dur"], free)
    beside = np.bincount(groups.index, weights=busy, minlength=groups.count.size)
    chosen = busy & (alone[groups.index] > 0) & (beside[groups.index] >= _LEAST)
    return Crowded(rows["event"][chosen], rows["dur"][chosen], alone[groups.index][chosen], share[chosen])


def _medians(groups: Groups, dur: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Median duration of each group's chosen rows; 0 where there are too few."""
    found = np.zeros(groups.count.size, np.int64)
    rows = np.flatnonzero(chosen)
    order = rows[np.lexsort((dur[rows], groups.index[rows]))]
    of = groups.index[order]
    first = np.searchsorted(of, np.arange(found.size))
    count = np.searchsorted(of, np.arange(found.size), side="right") - first
    enough = count >= _LEAST
    found[enough] = dur[order][first[enough] + (count[enough] - 1) // 2]
    return found
