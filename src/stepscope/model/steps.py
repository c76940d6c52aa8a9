"""The steps of one rank as arrays, read once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_SQL: Final = "SELECT step, ts, ts + dur AS stop, partial, source <> 'whole' AS found FROM steps ORDER BY ts, step"


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The n steps of a trace of one rank, by begin.

    Attributes:
        step: int32[n], index.
        ts: int64[n], begin on the host.
        stop: int64[n], end on the host.
        partial: bool[n].
        found: bool[n]; false for the one step that a trace without steps counts as.
    """

    step: NDArray[np.int32]
    ts: Times
    stop: Times
    partial: NDArray[np.bool_]
    found: NDArray[np.bool_]

    @classmethod
    def of(cls, trace: Trace) -> Steps:
        """Those of a trace, read once."""
        return trace.once(_steps)

    @property
    def complete(self) -> NDArray[np.int32]:
        """Indices of the complete ones."""
        return self.step[~self.partial]

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which of them were found and are complete, bool[n]."""
        return self.found & ~self.partial


def _steps(trace: Trace) -> Steps:
    rows = trace.columns(_SQL)
    flags = {name: rows[name].astype(np.bool_) for name in ("partial", "found")}
    return Steps(**{one.name: flags.get(one.name, rows[one.name]) for one in fields(Steps)})
