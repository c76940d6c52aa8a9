"""Kernels whose grid leaves SMs or CUs without a block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.peaks import MATRIX_CLASSES
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.grids import Grids
from stepscope.model.trace import Trace
from stepscope.signals.shared.job import step_share
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal

_CLASSES_SQL: Final = """
SELECT name, any_value(op_class) AS op_class FROM kernels WHERE name IN (SELECT unnest($names)) GROUP BY name
"""


@dataclass(frozen=True, slots=True, eq=False)
class UnderfilledKernels:
    """n kernels that leave a part of the device unused.

    Attributes:
        event: int64[n].
        dur: int64[n].
        factor: float64[n], by how much each would take less if they did not.
        names: Those of the kernels, the one with the most time first.
        rows: Their rows of the table `occupancy_grids`, the one with the most time first.
        of_step: Their time as a share of the recorded steps.
    """

    event: Ids
    dur: Ids
    factor: NDArray[np.float64]
    names: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    of_step: float

    @property
    def saved(self) -> float:
        """Share of their time that would go away."""
        total = float(self.dur.sum())
        return float((self.dur * (1 - self.factor)).sum()) / total if total else 0.0


@signal()
def sparse(s: Signals) -> UnderfilledKernels:
    """Kernels other than GEMMs on less than half of the SMs or CUs that take at least 20 µs on average."""
    rows = [row for row in _rows(s) if row["fill"] is not None and row["fill"] < 0.5 and row["mean_ns"] >= 20_000]
    classes = s.trace.rows(_CLASSES_SQL, {"names": [row["name"] for row in rows]}) if rows else []
    # Libraries split GEMMs on purpose: few blocks with all of an SM's registers are right for them.
    others = {row["name"] for row in classes if row["op_class"] not in (*MATRIX_CLASSES, "collective", "optimizer")}
    kept = [row for row in rows if row["name"] in others]
    if not kept:
        nothing = np.zeros(0, np.int64)
        return UnderfilledKernels(nothing, nothing, np.zeros(0), (), (), 0.0)
    ordered = sorted(kept, key=lambda row: (-row["total_ns"], row["name"], row["blocks"]))
    work = DeviceWork.of(s.trace)
    parts = [launches(s, row) for row in ordered]
    at = np.concatenate(parts)
    factor = np.repeat([max(row["fill"], 0.5) for row in ordered], [part.size for part in parts])
    order = np.argsort(work.event[at], kind="stable")
    share = step_share(s, work.dur[at].sum())
    names = tuple(dict.fromkeys(row["name"] for row in ordered))
    return UnderfilledKernels(work.event[at][order], work.dur[at][order], factor[order], names, tuple(ordered), share)


def launches(s: Signals, row: dict[str, Any]) -> Ids:
    """Positions in `DeviceWork` of the launches of a row of `occupancy_grids`."""
    work, blocks = DeviceWork.of(s.trace), Grids.of(s.trace).blocks
    mine = (work.name == s.trace.once(ids_by_name)[row["name"]]) & (np.abs(blocks - row["blocks"]) < 0.5)
    device = -1 if row["device"] is None else row["device"]
    return np.flatnonzero(mine & work.are("compute") & (work.device == device))


def _rows(s: Signals) -> list[dict[str, Any]]:
    rows = s.table("occupancy_grids").arrow.to_pylist()
    return [row for row in rows if row["blocks"] and math.isfinite(row["blocks"])]


def ids_by_name(trace: Trace) -> dict[str, int]:
    """`name_id` by name; ask for it with `Trace.once`."""
    return {name: name_id for name_id, name in trace.once(names_by_id).items()}
