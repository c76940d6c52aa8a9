"""GEMMs whose last wave of blocks leaves most of the device idle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.signals.kernels.shapes import bound_by_compute, efficiency
from stepscope.signals.shared.gemms import Gemms, gemms
from stepscope.signals.shared.job import step_share
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal

#: GEMMs of few waves count, from this time on and with so many places in their waves empty.
_MOST_WAVES, _LONG_NS, _EMPTY = 5, 50_000, 0.1
#: So many waves are as good as full ones to compare with.
_MANY: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class Tails:
    """n GEMMs that are slow because of their last wave.

    Attributes:
        event: int64[n].
        dur: int64[n].
        factor: float64[n], by how much each would take less if its waves were full.
        name: Kernel of those with the most time; empty if there are none.
        waves: Its number of waves.
        tail: Part of the places in these that stay empty.
        of_step: Their time as a share of the recorded steps.
    """

    event: Ids
    dur: Ids
    factor: NDArray[np.float64]
    name: str
    waves: float
    tail: float
    of_step: float

    @property
    def saved(self) -> float:
        """Time that would go away as a share of the recorded steps."""
        total = float(self.dur.sum())
        return self.of_step * float((self.dur * (1 - self.factor)).sum()) / total if total else 0.0


@signal()
def tails(s: Signals) -> Tails:
    """GEMMs of a few waves, the last partly empty, that are slower for it than others of the same kernel."""
    rows = s.table("occupancy").arrow.to_pylist()
    places = {row["name"]: row["blocks"] / row["waves"] for row in rows if row["waves"] and row["blocks"]}
    found = s(gemms)
    waves = found.blocks / np.array([places.get(name, np.inf) for name in found.names])[found.name]
    tail = np.where(waves > 0, 1 - waves / np.ceil(np.maximum(waves, 1e-9)), 0.0)
    limited = bound_by_compute(s)
    few = limited & (waves > 1) & (waves <= _MOST_WAVES) & (tail >= _EMPTY) & (found.dur >= _LONG_NS)
    full = limited & (waves > 0) & ((tail < _EMPTY) | (waves >= _MANY))
    factor = _factors(found, efficiency(s), tail, (few, full))
    mine = np.flatnonzero(factor < 1)
    if not mine.size:
        return Tails(mine, mine, np.zeros(0), "", 0.0, 0.0, 0.0)
    top = mine[np.argmax(found.dur[mine])]
    dur = found.dur[mine]
    return Tails(
        found.event[mine], dur, factor[mine], found.names[found.name[top]], float(waves[top]), float(tail[top]),
        step_share(s, dur.sum()),
    )  # fmt: skip


def _factors(
    found: Gemms, done: NDArray[np.float64], tail: NDArray[np.float64],
    groups: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> NDArray[np.float64]:  # fmt: skip
    """Factor of each GEMM's time with full waves; 1 unless it is slower by at least half of the empty part."""
    few, full = groups
    factor = np.ones(found.event.size)
    for name in np.unique(found.name[few]).tolist():
        same = found.name == name
        others = np.flatnonzero(same & full)
        if not others.size:
            continue
        best = float(np.median(done[others]))
        for blocks in np.unique(found.blocks[same & few]).tolist():
            mine = np.flatnonzero(same & few & (found.blocks == blocks))
            own, empty = float(np.median(done[mine])), float(tail[mine[0]])
            if own <= best * (1 - empty / 2):
                factor[mine] = max(1 - empty, own / best)
    return factor
