"""Operators of low efficiency against their device's roofline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.op_inputs import input_texts, inputs_of
from stepscope.signals.shared.dimensions import dimensions
from stepscope.signals.shared.job import device, step_share
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal

#: Time of a call from which launches and floors do not explain a low efficiency.
_LONG_NS: Final = 50_000
_HALF: Final = 0.5
#: Lookups are scattered and updates of parameters many small tensors: their bytes say little about their least time.
_UNTOLD: Final = ("embedding", "optimizer", "copy")


@dataclass(frozen=True, slots=True, eq=False)
class Slow:
    """n kernels of operators with low efficiency.

    Attributes:
        event: int64[n].
        dur: int64[n].
        efficiency: float64[n], of the operator with these shapes.
        best: float64[n], the highest efficiency that large GEMMs of the recording reach at the same peak; NaN for
            what memory bounds, and where there are none.
        rows: Rows of the table `roofline_shapes`, the one with the most time first.
        of_step: Their time as a share of the recorded steps.
    """

    event: Ids
    dur: Ids
    efficiency: NDArray[np.float64]
    rows: tuple[dict[str, Any], ...]
    of_step: float
    best: NDArray[np.float64]


@signal()
def slow(s: Signals) -> Slow:
    """Operators of at least 50 µs that stay below half of the device's roofline."""
    known = s.maybe(device)
    units = (known.units if known is not None else None) or 0
    told = s.table("roofline_shapes").arrow.to_pylist()
    rows = [row for row in told if _is_slow(row, units)]
    rows.sort(key=lambda row: (-row["total_ns"], row["name"], row["shapes"]))
    if not rows:
        nothing = np.zeros(0, np.int64)
        return Slow(nothing, nothing, np.zeros(0), (), 0.0, np.zeros(0))
    event, dur, of = _kernels(s, rows)
    done, best = np.array([(row["efficiency"], _best(row, told)) for row in rows], np.float64).T
    share = step_share(s, dur.sum())
    return Slow(event, dur, done[of], tuple(rows), share, best[of])


def _best(row: dict[str, Any], rows: list[dict[str, Any]]) -> float:
    """The highest efficiency of large GEMMs that have the same peak; NaN for what memory bounds."""
    if row["bound"] != "compute":
        return float("nan")
    done = (
        one["efficiency"]
        for one in rows
        if one["op_class"] == "gemm" and one["bound"] == "compute" and one["peak"] == row["peak"]
        and one["mean_ns"] >= _LONG_NS and one["efficiency"] is not None
    )  # fmt: skip
    return max(done, default=float("nan"))


def _kernels(s: Signals, rows: list[dict[str, Any]]) -> tuple[Ids, Ids, Ids]:
    """Event, time and row of the activities that these rows of the table are about, by event."""
    spans, work = Spans(s.trace), DeviceWork.of(s.trace)
    at = np.flatnonzero(work.are("compute", "copy", "set"))
    operator = spans.rows(work.op[at])
    at, operator = at[operator >= 0], operator[operator >= 0]
    name, text = spans.name[operator], s.trace.once(inputs_of)[operator]
    texts: dict[str, list[int]] = {}
    for code, known in s.trace.once(input_texts).items():
        texts.setdefault(known["shapes"], []).append(code)
    ids = {name: name_id for name_id, name in s.trace.once(names_by_id).items()}
    mine = [np.flatnonzero((name == ids[row["name"]]) & np.isin(text, texts[row["shapes"]])) for row in rows]
    found = at[np.concatenate(mine)]
    of = np.repeat(np.arange(len(rows)), [each.size for each in mine])
    order = np.argsort(work.event[found], kind="stable")
    return work.event[found][order], work.dur[found][order], of[order]


def _is_slow(row: dict[str, Any], units: int) -> bool:
    told = row["efficiency"] is not None and row["shapes"] is not None and row["op_class"] not in _UNTOLD
    if not told or row["efficiency"] >= _HALF or row["mean_ns"] < _LONG_NS:
        return False
    dims = dimensions(row["shapes"]) if row["op_class"] == "gemm" else None
    return dims is None or dims.tiles >= units
