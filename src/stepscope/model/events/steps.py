"""The steps of one rank as arrays, read once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_SQL: Final = """
SELECT step, ts, ts + dur AS stop, "begin" AS start, "end", partial, source <> 'whole' AS found, typical
FROM steps ORDER BY ts, step
"""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The n steps of one rank, by start.

    Attributes:
        step: int32[n], step numbers.
        ts: int64[n], start on the host in ns.
        stop: int64[n], end on the host.
        start: int64[n], start on the devices, see table `steps`.
        end: int64[n], end on the devices, at least `start`.
        partial: bool[n].
        found: bool[n]; false for the single step that stands for a trace without steps.
        typical: bool[n], whether figures per step include it.
    """

    step: NDArray[np.int32]
    ts: Times
    stop: Times
    start: Times
    end: Times
    partial: NDArray[np.bool_]
    found: NDArray[np.bool_]
    typical: NDArray[np.bool_]

    @classmethod
    def of(cls, trace: Trace) -> Steps:
        """Those of a trace, read once."""
        return trace.once(_steps)

    @property
    def length(self) -> Times:
        """Device time of each step (`end` - `start`), int64[n] in ns."""
        length: Times = self.end - self.start
        return length

    @property
    def typical_ns(self) -> int | None:
        """Mean length of the typical steps in ns, overlapping ones without time of their own too; None if it is 0."""
        lengths = self.length[self.typical]
        return int(lengths.sum()) // lengths.size if lengths.any() else None

    @property
    def typical_steps(self) -> NDArray[np.int32]:
        """Numbers of the typical steps."""
        return self.step[self.typical]

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Whether each step was found and is complete, bool[n]."""
        return self.found & ~self.partial


def _steps(trace: Trace) -> Steps:
    rows = trace.columns(_SQL)
    rows["end"] = np.maximum(rows["end"], rows["start"])
    flags = {name: rows[name].astype(np.bool_) for name in ("partial", "found", "typical")}
    return Steps(**{one.name: flags.get(one.name, rows[one.name]) for one in fields(Steps)})
