"""Long kernels of low occupancy, and the resource that limits it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from stepscope.analyses.shared.peaks import MATRIX_CLASSES
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.signals.kernels.dominance import compute
from stepscope.signals.kernels.grid_coverage import launches
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal

Limit = Literal["block size", "registers", "shared memory", "grid"]
#: Mean time of a launch from which a kernel is long.
_LONG_NS: Final = 100_000
#: Threads that run in step.
_WARP: Final = 32
#: Occupancy does not matter to kernels that come as close to the roofline.
_GOOD: Final = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Occupying:
    """A kernel with n launches of one size and low occupancy.

    Attributes:
        name: The kernel's.
        events: int64[n], the longest first.
        total_ns: Time of all launches.
        share: That time as a share of the steps.
        occupancy: Places that are taken by threads, as a share of the device's.
        limit: What keeps others empty.
        blocks: Blocks of a launch.
        threads: Threads of a block.
        registers: Of a thread; None if not recorded.
        shared_bytes: Of a block; None if not recorded.
    """

    name: str
    events: Ids
    total_ns: int
    share: float
    occupancy: float
    limit: Limit
    blocks: float
    threads: float
    registers: float | None
    shared_bytes: float | None


@signal()
def places(s: Signals) -> tuple[Occupying, ...]:
    """Kernels of at least 100 µs with low occupancy, the one with the most time first.

    GEMMs, convolutions and attention are left out: they keep operands in registers and shared memory on purpose. So are
    kernels near the roofline.
    """
    rows = [row for row in s.table("occupancy_grids").arrow.to_pylist() if _told(row)]
    work, found = DeviceWork.of(s.trace), s(compute)
    good = {one.name for one in found.kernels if one.efficiency is not None and one.efficiency >= _GOOD}
    matrix = [OP_CLASSES.index(name) for name in OP_CLASSES if name in MATRIX_CLASSES or name == "collective"]
    kernels = []
    for row in rows:
        at = launches(s, row)
        if row["name"] in good or not at.size or work.op_class[at[0]] in matrix:
            continue
        occupancy, limit = _limited(row)
        at = at[np.argsort(-work.dur[at], kind="stable")]
        total = int(row["total_ns"])
        kernels.append(
            Occupying(
                row["name"], work.event[at], total, total / found.length_ns, occupancy, limit, row["blocks"],
                row["threads"], row["registers"], row["shared_bytes"],
            )
        )  # fmt: skip
    return tuple(sorted(kernels, key=lambda one: (-one.total_ns, one.name)))


def _told(row: dict[str, Any]) -> bool:
    known = row["theoretical_occupancy"] is not None and row["waves"] is not None and row["threads"]
    return bool(known) and row["mean_ns"] >= _LONG_NS


def _limited(row: dict[str, Any]) -> tuple[float, Limit]:
    """Share of the thread slots that are taken, and the resource that limits it most.

    An SM takes as many blocks as its registers, shared memory and threads admit; a block takes whole warps, whose last
    one may be partly empty; and a grid of less than one wave leaves SMs with fewer blocks.
    """
    lanes = row["threads"] / (_WARP * math.ceil(row["threads"] / _WARP))
    by_grid = min(1.0, row["waves"])
    resident = row["theoretical_occupancy"]
    least = min(lanes, by_grid, resident)
    limit: Limit = "grid" if by_grid == least else "block size" if lanes == least or row["limit"] == "threads" else (
        "registers" if row["limit"] == "registers" else "shared memory"
    )  # fmt: skip
    return lanes * by_grid * resident, limit
