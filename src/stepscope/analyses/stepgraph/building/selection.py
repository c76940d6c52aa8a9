"""The steps that the graph covers: a run of typical steps, with the one before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.device_time import step_windows
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

#: Device activities that a graph holds; steps beyond that are left out, so that a prediction takes milliseconds.
COMFORTABLE = 25_000
#: Up to this many, for the sake of `FEWEST` steps; a single step may have more.
MOST = 80_000
FEWEST = 3

_STEPS_SQL = """
SELECT s.step, s.ts, s.ts + s.dur AS stop, s.typical, s.source = 'whole' AS whole, coalesce(k.work, 0) AS work
FROM steps s LEFT JOIN (SELECT step, count(*) AS work FROM kernels WHERE kind <> 'sync' GROUP BY 1) k USING (step)
ORDER BY s.ts, s.step
"""


@dataclass(frozen=True, slots=True)
class GraphSteps:
    """The steps of a graph, ascending; the first `lead` of them only lead up to the others and are not counted.

    Attributes:
        step: int32[n], as in `steps`.
        starts: int64[n], starts on the host.
        ends: int64[n], ends on the host.
        window_ns: int64[n], time that each step owns, as in `step_budget`.
        floor: int64[n], ascending: before this a step owns no time, for the devices are busy with work that is no
            counted step's: of before the recording, or of a step before these. The smallest int64 where nothing is in
            the way.
        lead: 0 or 1.
        available: Typical steps of the recording.
        whole: Whether no steps were found, and the recording counts as one.
    """

    step: NDArray[np.int32]
    starts: Times
    ends: Times
    window_ns: Times
    floor: Times
    lead: int
    available: int
    whole: bool

    @property
    def recorded_ns(self) -> int:
        """Recorded time of all counted steps."""
        return int(self.window_ns[self.lead :].sum())

    @property
    def counted(self) -> tuple[int, ...]:
        """The counted steps."""
        return tuple(self.step[self.lead :].tolist())


def select_steps(trace: Trace) -> GraphSteps:
    """Choose the steps: all typical ones, or the run of consecutive ones whose mean is nearest to the median.

    Raises:
        MissingInputError: The recording has no steps.
    """
    rows = trace.columns(_STEPS_SQL)
    windows = trace.once(step_windows)
    if not (windows.ends > windows.starts).any():
        raise MissingInputError("the recording has no steps", hint="record some whole steps of the job")
    length, typical, work = windows.ends - windows.starts, rows["typical"].astype(np.bool_), rows["work"]
    if not typical.any():
        raise MissingInputError("the chosen steps are not typical", hint="choose others")
    low, high = _run(length, typical, work)
    lead = int(low > 0)
    part = slice(low - lead, high)
    return GraphSteps(
        rows["step"][part],
        rows["ts"][part],
        rows["stop"][part],
        length[part],
        _floor(rows["ts"][part], windows.starts[part], windows.ends[part]),
        lead,
        int(np.count_nonzero(typical)),
        bool(rows["whole"].any()),
    )


def _floor(ts: Times, starts: Times, ends: Times) -> Times:
    """Starts of step windows on the devices that neither the host's start nor earlier steps explain.

    Work that delays one step delays those after it, too: it may cover a step wholly.
    """
    explained = np.array(ts)
    explained[1:] = np.maximum(ts[1:], np.maximum.accumulate(ends)[:-1])
    return np.maximum.accumulate(np.where(starts > explained, starts, np.iinfo(np.int64).min))


def _run(length: Times, typical: NDArray[np.bool_], work: NDArray[np.int64]) -> tuple[int, int]:
    """First and last + 1 of the steps to count."""
    usual = float(np.median(length[typical]))
    runs = _runs_of(typical)
    best: tuple[int, float, int, int] | None = None
    for first, last in runs:
        span = _longest_run(work[first:last])
        for low in range(first, last - span + 1):
            off = abs(float(length[low : low + span].mean()) - usual)
            if best is None or (-span, off) < best[:2]:
                best = (-span, off, low, low + span)
    assert best is not None
    return best[2], best[3]


def _longest_run(work: NDArray[np.int64]) -> int:
    """Number of consecutive steps that fit the limit, whichever are chosen."""
    heaviest = max(int(np.median(work)), 1)
    comfortable = COMFORTABLE // heaviest - 1
    span = max(comfortable, min(FEWEST, MOST // heaviest - 1), 1)
    return min(span, work.size)


def _runs_of(flag: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flag.astype(np.int8), [0]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
