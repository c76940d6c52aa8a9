"""Runtime calls that keep the host waiting for the device, told by name and by how they ended."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.recorded_events import names_of, passing
from stepscope.model.events.columns import Ids
from stepscope.model.events.device_work import Copies, DeviceWork
from stepscope.model.intervals import Times
from stepscope.model.runtime_names import is_blocking_copy, is_synchronisation
from stepscope.model.trace import Trace


def blocking_copies(trace: Trace) -> Ids:
    """Copies during which the host waited, as positions in `DeviceWork`.

    A copy to or from pageable memory, or by a call that always waits, may block the host; whether it did, their times
    tell: small pageable copies to the device return at once.
    """
    work, copies = DeviceWork.of(trace), Copies.of(trace)
    waits = np.isin(work.call_name, blocking_names(trace))
    waits[copies.at[copies.pageable]] = True
    returned = work.called + np.maximum(work.call_ns, 0)
    return np.flatnonzero(waits & work.are("copy") & work.launched & held_up(returned, work.ts, work.ts + work.dur))


def held_up(returned: Times, starts: Times, ends: Times) -> NDArray[np.bool_]:
    """Whether calls that may wait for their copies did: they last for at least half of them.

    A call that copies from pageable memory returns once the last piece is in the driver's buffer, a little before the
    copy ends; one that only put a few bytes there returns before, or as the copy begins.
    """
    held: NDArray[np.bool_] = (returned >= ends) | (2 * (returned - starts) >= ends - starts)
    return held


def blocking_names(trace: Trace) -> list[int]:
    """`name_id` of the calls that copy and return only when the copy is done."""
    return _name_ids(trace, is_blocking_copy)


def synchronising_names(trace: Trace) -> list[int]:
    """`name_id` of the calls that wait for the device."""
    return _name_ids(trace, is_synchronisation)


def called_names(trace: Trace) -> list[tuple[int, str]]:
    """`name_id` and name of all calls of the runtime; ask for it with `Trace.once`."""
    return names_of(trace, ("runtime", "sync", "launch"))


def _name_ids(trace: Trace, test: Callable[[str], bool]) -> list[int]:
    return passing(trace.once(called_names), test)
