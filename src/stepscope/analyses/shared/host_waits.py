"""Calls in which the host waits for the device, and calls in which it waits for a batch.

This is the one definition behind table `synchronisations`, idle causes, the signals of `signals/host` and
`signals/copies`, and the step graph. Each takes all of these calls or a named part of them, so that their counts agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.recorded_events import listed, names_of, passing
from stepscope.model.events.columns import Ids, Spans, on_host
from stepscope.model.events.copies import Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Times
from stepscope.model.runtime_names import is_blocking_copy, is_synchronisation
from stepscope.model.trace import Trace

#: A synchronising call this soon after the call that launched a copy, on the same thread, waits for that copy.
SOON_NS: Final = 50_000
#: Host and device overlap by this much at the start of a copy that is only queued.
_QUEUED_NS: Final = 20_000
#: Taking a batch that is there takes no longer than this; longer calls of a loader wait for its workers.
TAKING_NS: Final = 500_000

_CALLS_SQL: Final = """
SELECT id, ts, coalesce(dur, -1) AS dur, coalesce(correlation, 0) AS correlation, correlation IS NULL AS alone
FROM spans WHERE category IN ('sync', 'runtime') AND name_id IN {names}
"""


def waiting_calls(trace: Trace) -> Ids:
    """Ids of the calls that wait for the device: synchronising calls, and launches of copies that blocked the host.

    A driver that waits on a thread of its own records a call twice, with one correlation id: the earliest counts, of
    several the longest. Nested calls are all included; `outermost_waits` keeps the outermost.
    """
    rows = trace.columns(_CALLS_SQL.format(names=listed(synchronising_names(trace))))
    order = np.lexsort((rows["id"], -rows["dur"], rows["ts"], rows["correlation"], rows["alone"]))
    correlation, first = rows["correlation"][order], rows["alone"][order].astype(np.bool_)
    first[:1] = True
    first[1:] |= correlation[1:] != correlation[:-1]
    blocking = DeviceWork.of(trace).launch[blocking_copies(trace)]
    return np.concatenate((rows["id"][order[first]], blocking)).astype(np.int64)


def outermost_waits(trace: Trace) -> Ids:
    """Positions in `Spans` of the waits for the device on host threads, by start; ask for it with `Trace.once`.

    A call inside another one is the same wait, and one inside the profiler's own work is not the program's.

    The recursive query that it stands for: ids of `waiting_calls` of which no ancestor by `spans.parent` is one of them
    or of category `overhead`.
    """
    spans = Spans(trace)
    waits, apart = np.zeros(spans.id.size, np.bool_), spans.of("overhead")
    rows = spans.rows(trace.once(waiting_calls))
    waits[rows[rows >= 0]] = True
    apart |= waits
    at = np.flatnonzero(waits)
    at = at[on_host(trace, spans.track[at])]
    inner = np.zeros(at.size, np.bool_)
    going = np.arange(at.size)
    around = spans.around[at]
    while going.size:
        going, around = going[around >= 0], around[around >= 0]
        inner[going] |= apart[around]
        left = ~apart[around]
        going, around = going[left], spans.around[around[left]]
    at = at[~inner]
    ordered: Ids = at[np.lexsort((spans.id[at], spans.ts[at]))]
    return ordered


def loader_waits(trace: Trace) -> Ids:
    """Positions in `Spans` of the calls in which the job takes a batch from its loader, by start."""
    spans = Spans(trace)
    at = np.flatnonzero(spans.of("dataloader"))
    at = at[on_host(trace, spans.track[at])]
    ordered: Ids = at[np.lexsort((spans.id[at], spans.ts[at]))]
    return ordered


def blocking_copies(trace: Trace) -> Ids:
    """Positions in `DeviceWork` of the copies during which the host waited.

    A copy from or to pageable memory, or by a call that always waits, may block the host; its times decide, since small
    pageable copies to the device return at once. Where the kind of memory is not recorded, a call that lasts as long as
    a copy of more than `_QUEUED_NS` has waited for it too: a copy that is only queued has hardly begun by then.
    """
    work, copies = DeviceWork.of(trace), Copies.of(trace)
    waits = np.isin(work.call_name, blocking_names(trace))
    waits[copies.at[copies.pageable]] = True
    waits[copies.at[copies.untold]] |= work.dur[copies.at[copies.untold]] > _QUEUED_NS
    returned = work.called + np.maximum(work.call_ns, 0)
    return np.flatnonzero(waits & work.are("copy") & work.launched & held_up(returned, work.ts, work.ts + work.dur))


def held_up(returned: Times, starts: Times, ends: Times) -> NDArray[np.bool_]:
    """Whether calls that may wait for their copies did, bool[n]: they last for at least half of the copy.

    A call that copies from pageable memory returns once the last part is in the driver's buffer, a little before the
    copy ends; one that only stages a few bytes returns before the copy, or as it starts.
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
