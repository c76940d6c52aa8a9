"""Slowdown of compute kernels by collectives that run at the same time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.grouping import Groups
from stepscope.analyses.shared.peaks import MATRIX_CLASSES
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.grids import Grids
from stepscope.model.events.op_inputs import input_texts, inputs_of
from stepscope.model.trace import Trace
from stepscope.signals.signal import Signals, signal

#: Fewer of a kind beside communication or without it do not make a median.
_LEAST: Final = 3


@dataclass(frozen=True, slots=True)
class Crowded:
    """The n tensor-core kernels that ran beside collectives, with the time of equal ones without.

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
        """Additional time of these kernels as a share of their time alone."""
        return float(self.dur.sum()) / float(self.alone.sum()) - 1 if self.event.size else 0.0


@signal()
def crowded(s: Signals) -> Crowded:
    """Tensor-core kernels beside collectives for most of their time, with the median time of equal ones alone."""
    work = DeviceWork.of(s.trace)
    at, shapes = _with_shapes(s.trace)
    if not at.size:
        raise MissingInputError(
            "the recording has no matrix multiplications with the shapes of their inputs",
            hint="record with record_shapes=True",
        )
    event, dur = work.event[at], work.dur[at]
    share = np.zeros(at.size)
    for device in s.trace.once(device_times):
        mine = work.device[at] == (-1 if device.device is None else device.device)
        ts = work.ts[at[mine]]
        share[mine] = device.comm.within(ts, ts + dur[mine]) / dur[mine]
    free, busy = share == 0.0, share > 0.5
    if not busy.any():
        return Crowded(event[busy], dur[busy], dur[busy], share[busy])
    _, grid = np.unique(Grids.of(s.trace).grid[at], return_inverse=True)
    kind = (work.name[at].astype(np.int64) * (int(grid.max()) + 1) + grid) * (int(shapes.max()) + 1) + shapes
    groups = Groups.by(np.unique(kind, return_inverse=True)[1])
    alone = _medians(groups, dur, free)
    beside = np.bincount(groups.index, weights=busy, minlength=groups.count.size)
    chosen = busy & (alone[groups.index] > 0) & (beside[groups.index] >= _LEAST)
    return Crowded(event[chosen], dur[chosen], alone[groups.index][chosen], share[chosen])


def _with_shapes(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of GEMMs, by start, whose operators have recorded shapes, and a number for these."""
    spans, work = Spans(trace), DeviceWork.of(trace)
    at = np.flatnonzero(work.is_class(*MATRIX_CLASSES) & (work.dur > 0))
    at = at[np.lexsort((work.event[at], work.ts[at]))]
    rows = spans.rows(work.op[at])
    texts = trace.once(input_texts)
    number: dict[str, int] = {"": -1}
    of_text = np.full(max(texts, default=-1) + 2, -1)  # the last place stands for -1
    for code, text in texts.items():
        of_text[code] = number.setdefault(text["shapes"], len(number))
    shapes = of_text[np.where(rows >= 0, trace.once(inputs_of)[rows], -1)]
    return at[shapes >= 0], shapes[shapes >= 0]


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
