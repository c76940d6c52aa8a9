"""Host time by the ranges that the program marked, for recordings without a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.ingest.inputs import source_of
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.signals.signal import Signals, signal

_COLLECTIVES: Final = "SELECT event FROM collectives"


@dataclass(frozen=True, slots=True)
class MarkedParts:
    """Ranges of the busiest thread, in complete steps, or in the whole recording where there are none.

    Attributes:
        length_ns: Length of these steps together, or of the recording.
        steps: Number of the steps; 0 without.
        parts: Names of ranges with their own time, without that of ranges inside, ns; the largest first.
    """

    length_ns: int
    steps: int
    parts: tuple[tuple[str, int], ...]


@signal()
def marked_parts(s: Signals) -> MarkedParts:
    """Host time by marked range, in a recording without a device."""
    spans = Spans(s.trace)
    ranges = np.flatnonzero(spans.of("annotation") & (spans.dur > 0))
    # Ranges of collectives are of the library's own threads: the program did not mark them.
    ranges = ranges[
        on_host(s.trace, spans.track[ranges]) & ~np.isin(spans.id[ranges], s.trace.columns(_COLLECTIVES)["event"])
    ]
    if not source_of(s.trace.recordings[s.rank].reader).timed:
        # The ranges of a memory snapshot say when memory was allocated, not what the time went to.
        raise MissingInputError("the recording has no times of work", hint="nothing is missing: it is about memory")
    told = DeviceWork.of(s.trace).event.size or spans.of("op", "python", "runtime", "launch").any()
    if told or not ranges.size:
        raise MissingInputError("more than ranges is recorded, or nothing is marked", hint="nothing is missing")
    every = Steps.of(s.trace)
    inner = every.whole & every.found
    _, index = np.unique(spans.track[ranges], return_inverse=True)
    mine = ranges[index == np.bincount(index, spans.dur[ranges]).argmax()]
    own = spans.dur[mine].copy()
    around = spans.around[mine]
    place = np.full(spans.dur.size, -1)
    place[mine] = np.arange(mine.size)
    inside = (around >= 0) & (place[around] >= 0)
    np.subtract.at(own, place[around[inside]], spans.dur[mine[inside]])
    if inner.any():
        kept = np.isin(spans.step[mine], every.step[inner])
        mine, own = mine[kept], own[kept]
        length = int((every.stop - every.ts)[inner].sum())
    else:
        length = int((spans.ts + np.maximum(spans.dur, 0)).max() - spans.ts.min())
    names = s.trace.once(names_by_id)
    name, index = np.unique(spans.name[mine], return_inverse=True)
    total = np.bincount(index, np.maximum(own, 0), name.size).astype(np.int64)
    order = np.argsort(-total, kind="stable").tolist()
    parts = tuple((names[int(name[one])], int(total[one])) for one in order if total[one] > 0)
    return MarkedParts(max(length, 1), int(np.count_nonzero(inner)), parts)
