"""Collectives that threads of the host carry out (gloo, MPI), held against those of the other ranks.

A thread of the library runs each from where the rank has come to it until it has the result, as a kernel does on a
device: the rank that comes last has the shortest. The program goes on meanwhile, until it needs the result. That it
stands still is not recorded; it does at most where no operator runs until the collective ends. Code that is no operator
and runs beside a collective does so on all ranks: what passes on each of them until the next operator is no waiting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.communication.called import OF_LIBRARY
from stepscope.analyses.shared.needs import has_device
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.intervals import Intervals, Times
from stepscope.model.runtime_names import COLLECTIVE_ON_HOST
from stepscope.signals.communication.waiting import Collectives, waits_in
from stepscope.signals.shared.ran_on import ran_on
from stepscope.signals.signal import Signals, signal

_CALLS_SQL: Final = f"""
SELECT c.event, s.ts, s.dur, s.step::BIGINT AS step, coalesce(c.world_size, len(c.ranks), -1)::INTEGER AS world,
    s.track, c.collective IN ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'barrier') AS together
FROM collectives c JOIN spans s ON s.id = c.event JOIN names n USING (name_id) JOIN tracks t ON t.track = s.track
WHERE t.kind = 'host' AND regexp_matches(n.name, '{COLLECTIVE_ON_HOST}') AND s.dur > 0
    AND c.collective NOT IN ('send', 'recv', 'send_recv') AND s.step IN (SELECT step FROM steps WHERE typical)
ORDER BY s.ts, c.event
"""
_GROUPS_SQL: Final = 'SELECT count(DISTINCT "group") FROM groups'
_UNNUMBERED_SQL: Final = "SELECT count(*) FROM steps WHERE typical AND number IS NULL"


@dataclass(frozen=True, slots=True)
class Exchanged:
    """Collectives of a rank's processor in its typical steps.

    Attributes:
        found: What of each is waiting.
        compute: When operators ran, but for those that give the library work or wait for it.
        stopped: When none did until a collective ended.
    """

    found: Collectives
    compute: Intervals
    stopped: Intervals


@signal()
def exchanged(s: Signals) -> Exchanged:
    """Collectives of a rank whose model runs on the processor, with the time that it waits for other ranks in each."""
    rows = s.trace.columns(_CALLS_SQL)
    if s.trace.once(has_device) or not rows["event"].size:
        raise MissingInputError("no step of the recording has collectives of the host's, and no device")
    ran = s(ran_on)
    if ran.where != "cpu" and (ran.where != "unknown" or ran.listed):
        raise MissingInputError("what the device does is not recorded", hint="record the device as well as the host")
    # Calls are matched by their order in a step: with several groups it is not known whose they are.
    if s.trace.scalar(_GROUPS_SQL) != 1 or s.trace.scalar(_UNNUMBERED_SQL):
        raise MissingInputError("which calls of the ranks belong together is not recorded")
    _need_all_together(s, rows)
    spans = Spans(s.trace)
    compute = _computing(s, spans, np.unique(rows["track"]))
    since = _stopped_since(compute, rows["ts"], rows["ts"] + rows["dur"])
    stopped = Intervals.union_of(since, rows["ts"] + rows["dur"])
    found = waits_in(s, rows, lambda wait: _apart(since, rows["ts"] + wait))
    return Exchanged(found, compute, stopped)


def _need_all_together(s: Signals, rows: dict[str, NDArray[np.int64]]) -> None:
    """Abstain where ranks may leave all collectives of a step before others have come.

    From a broadcast among more than two, some leave before the last comes, and a part of its way is shorter for some:
    what a rank waits less there it waits longer in the next collective that needs all, if there is one.
    """
    together = rows["together"].astype(np.bool_)
    size = s.trace.recordings[s.rank].world_size or 0
    if size == 2 or together.all():
        return
    if not np.isin(rows["step"][~together], rows["step"][together]).all():
        raise MissingInputError("ranks leave their collectives one by one, which does not tell who comes last")


def _computing(s: Signals, spans: Spans, tracks: NDArray[np.int32]) -> Intervals:
    """When operators ran on other threads than the library's, but for those that give it work or wait for it."""
    of_library = [name_id for name_id, name in s.trace.once(names_by_id).items() if re.search(OF_LIBRARY, name)]
    ours = spans.of("op") & (spans.dur > 0) & ~np.isin(spans.track, tracks)
    around = np.flatnonzero(np.isin(spans.name, of_library))
    while around.size:
        ours[around] = False
        around = np.unique(spans.around[around])
        around = around[around >= 0]
    at = np.flatnonzero(ours)
    at = at[on_host(s.trace, spans.track[at])]
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])


def _stopped_since(compute: Intervals, ts: Times, ends: Times) -> Times:
    """Since when nothing was computed until each collective ended, int64[n]: its end where something was."""
    last = np.append(np.iinfo(np.int64).min, compute.ends)[np.searchsorted(compute.ends, ends, side="right")]
    found: Times = np.where(compute.at(ends - 1), ends, np.maximum(ts, last))
    return found


def _apart(starts: Times, ends: Times) -> Times:
    """Length of each interval without what those before it cover, int64[n]: several threads wait at once."""
    order = np.argsort(starts, kind="stable")
    until = np.maximum.accumulate(np.append(np.iinfo(np.int64).min, ends[order]))[:-1]
    found = np.zeros_like(starts)
    found[order] = np.maximum(ends[order] - np.maximum(starts[order], until), 0)
    return found
