"""What the tables of a job need to know of a rank's operators on its devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.grouping import Groups
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace


@dataclass(frozen=True, slots=True)
class OperatorPart:
    """The n names of compute kernels that a rank ran, over its whole recording.

    Attributes:
        names: Names.
        count: int64[n].
        total: int64[n] ns.
        squares: float64[n] ns², sum of squared deviations from the rank's mean.
        least: int64[n] ns.
        most: int64[n] ns.
    """

    names: tuple[str, ...]
    count: NDArray[np.int64]
    total: Times
    squares: NDArray[np.float64]
    least: Times
    most: Times


def operators_of(trace: Trace) -> OperatorPart:
    """Sums of a rank's compute kernels by name.

    Raises:
        MissingInputError: It has none.
    """
    work, names = DeviceWork.of(trace), trace.once(names_by_id)
    at = np.flatnonzero(work.are("compute"))
    if not at.size:
        raise MissingInputError.of("device")
    name, dur = work.name[at].astype(np.int64), work.dur[at].astype(np.int64)
    groups = Groups.by(name)
    total = groups.sum(dur)
    off = dur - (total / groups.count)[groups.index]
    return OperatorPart(
        tuple(names[one] for one in name[groups.first].tolist()), groups.count.astype(np.int64), total,
        np.bincount(groups.index, off**2, groups.count.size).astype(np.float64), groups.least(dur), groups.most(dur),
    )  # fmt: skip
