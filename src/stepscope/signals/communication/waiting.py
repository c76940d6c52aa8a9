"""Collectives of one rank held against those of the others: how long it waits in each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.communication.collective_transfers import transfers
from stepscope.analyses.shared.job_size import job_size
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Times
from stepscope.signals.signal import Signals


@dataclass(frozen=True, slots=True)
class Collectives:
    """The n collectives of the rank in complete steps, in time order.

    Attributes:
        event: int64[n].
        wait: int64[n], the part of each that is waiting for ranks that came later.
        exposed: int64[n], the part of the wait that compute does not hide: nothing was computed meanwhile, or the
            transfer lies behind compute without it, and after compute with it.
        unseen: int64[n], the part of `exposed` in which all ranks at hand waited: for one that is not, if any.
        left: float64[n], the rest of each as a fraction of it: the transfer.
        known: bool[n], whether the wait is known: the library recorded the transfer, or the recordings of all ranks of
            the group are at hand, or of half of them, where it is no less than that.
        absent: bool[n], whether it is known, but for ranks of the group that are not at hand, or may not be.
        last: int64[n], the rank that came last, of those at hand; -1 where that is not known.
        whole: bool[n], whether all ranks of the job take part.
        step: int64[n].
        steps: Number of complete steps.
    """

    event: NDArray[np.int64]
    wait: Times
    exposed: Times
    unseen: Times
    left: NDArray[np.float64]
    known: NDArray[np.bool_]
    absent: NDArray[np.bool_]
    last: NDArray[np.int64]
    whole: NDArray[np.bool_]
    step: NDArray[np.int64]
    steps: int


def waits_in(s: Signals, rows: Mapping[str, NDArray[np.int64]], exposed_of: Callable[[Times], Times]) -> Collectives:
    """Collectives of a rank held against those of the others.

    Args:
        s: The rank.
        rows: Columns `event`, `ts`, `dur`, `step` and `world` of each, the last one -1 where it is not recorded.
        exposed_of: From the part of each that is waiting to the part of that which compute does not hide.
    """
    told = s.trace.once(transfers)
    transfer, ranks = told.of(rows["event"], rows["dur"])
    # Where the size of the job is not recorded, there are ranks up to the highest at hand: those may be all.
    least, size = s.trace.job.once(job_size).least, s.trace.recordings[s.rank].world_size
    world = np.where(rows["world"] < 0, size or max(least, 2), rows["world"])
    wait = rows["dur"] - transfer
    exposed = np.maximum(exposed_of(wait), 0)
    steps = max(Steps.of(s.trace).typical_steps.size, 1)
    recorded = ranks == 0  # the library recorded the transfers themselves
    # One rank that is missing, of many, is hardly the one that comes last.
    known = recorded | (ranks >= world) | ((ranks > 1) & (2 * ranks >= world))
    absent = known & ~recorded & ((ranks < world) | ((rows["world"] < 0) & (size is None)))
    unseen = np.minimum(exposed, told.least(rows["event"], rows["dur"]) - transfer)
    return Collectives(
        rows["event"], wait, exposed, unseen, transfer / rows["dur"], known, absent, told.last_of(rows["event"]),
        world >= max(least, size or 0), rows["step"], steps,
    )  # fmt: skip
