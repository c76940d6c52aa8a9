"""How kernels fill the device: multiprocessors left without a block, and last waves that are nearly empty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.peaks import MATRIX_CLASSES
from stepscope.signals.job import recorded_ns
from stepscope.signals.products import Products, products
from stepscope.signals.shapes import efficiency
from stepscope.signals.signal import Signals, signal
from stepscope.signals.work import Ids

_EVENTS_SQL: Final = """
SELECT event, dur, name FROM kernels WHERE kind = 'compute' AND name IN (SELECT unnest($names)) ORDER BY event
"""
_CLASSES_SQL: Final = """
SELECT name, any_value(op_class) AS op_class FROM kernels WHERE name IN (SELECT unnest($names)) GROUP BY name
"""
#: Kernels with few waves and others to compare with: those that fill their waves, or have so many that it is the same.
_MOST_WAVES, _FULL, _MANY = 5, 0.1, 8


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """n kernels that leave a part of the device unused.

    Attributes:
        event: int64[n].
        dur: int64[n].
        factor: float64[n], by how much each would take less if they did not.
        names: Those of the kernels, the one with the most time first.
        rows: Their rows of the table `occupancy`, in that order.
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
        """What would go away of their time, as a share of it."""
        total = float(self.dur.sum())
        return float((self.dur * (1 - self.factor)).sum()) / total if total else 0.0


@signal()
def sparse(s: Signals) -> Kernels:
    """Kernels, but for products, on less than half of the multiprocessors that take 20 µs and more on average."""
    rows = [row for row in _rows(s) if row["fill"] is not None and row["fill"] < 0.5 and row["mean_ns"] >= 20_000]
    classes = s.trace.sql(_CLASSES_SQL, {"names": [row["name"] for row in rows]}).to_pylist() if rows else []
    # Libraries split products on purpose: few blocks with all of a multiprocessor's registers are right for them.
    others = {row["name"] for row in classes if row["op_class"] not in (*MATRIX_CLASSES, "collective", "optimizer")}
    kept = [row for row in rows if row["name"] in others]
    return _of(s, kept, {row["name"]: max(row["fill"], 0.5) for row in kept})


@signal()
def tails(s: Signals) -> Kernels:
    """Products of a few waves of blocks, the last one partly empty, that are slower by that than others."""
    rows = [row for row in _rows(s) if row["waves"] is not None and row["mean_ns"] >= 50_000]
    few = [row for row in rows if 1 < row["waves"] <= _MOST_WAVES and row["tail"] >= _FULL]
    if not few:
        return _of(s, [], {})
    found, done = s(products), efficiency(s)
    full = [row["name"] for row in rows if row["tail"] <= _FULL or row["waves"] >= _MANY]
    best, factors = _median(found, done, full), {}
    for row in few:
        own = _median(found, done, [row["name"]])
        if own and best and own <= best * (1 - row["tail"] / 2):
            factors[row["name"]] = max(1 - row["tail"], own / best)
    return _of(s, [row for row in few if row["name"] in factors], factors)


def _rows(s: Signals) -> list[dict[str, Any]]:
    rows = s.table("occupancy").arrow.to_pylist()
    return [row for row in rows if row["blocks"] and math.isfinite(row["blocks"])]


def _median(found: Products, done: NDArray[np.float64], names: list[str]) -> float | None:
    """Median efficiency of the products that kernels with these names do; None if none is known."""
    codes = [code for code, name in enumerate(found.names) if name in names]
    mine = np.isin(found.name, codes) & (found.flops > 0)
    return float(np.median(done[mine])) if mine.any() else None


def _of(s: Signals, rows: list[dict[str, Any]], factors: dict[str, float]) -> Kernels:
    if not rows:
        nothing = np.zeros(0, np.int64)
        return Kernels(nothing, nothing, np.zeros(0), (), (), 0.0)
    ordered = sorted(rows, key=lambda row: (-row["total_ns"], row["name"]))
    names = list(dict.fromkeys(row["name"] for row in ordered))
    found = s.trace.columns(_EVENTS_SQL, {"names": names})
    factor = np.array([factors[name] for name in found["name"].tolist()], np.float64)
    share = float(found["dur"].sum()) / s(recorded_ns)
    return Kernels(found["event"], found["dur"], factor, tuple(names), tuple(ordered), share)
