"""Operators that compute on the host although the job has a device."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import loader_waits
from stepscope.analyses.shared.needs import need_device, need_operators
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Times
from stepscope.signals.host.host import operator_ns
from stepscope.signals.shared.job import recorded_steps, step_ns
from stepscope.signals.shared.links import linked
from stepscope.signals.signal import Signals, signal

#: An operator that launches nothing and takes longer than that works on the host itself; a view takes 1 µs.
_WORKING_NS: Final = 50_000
#: Where the host is slow in everything it must be so many times longer than what calls nothing usually takes.
_TIMES: Final = 10

#: Operators of PyTorch and its libraries.
_KNOWN: Final = re.compile(r"(aten|torchvision|torchaudio|quantized|mkldnn)::")


@dataclass(frozen=True, slots=True)
class CpuOperatorCalls:
    """Operators in steps, outside the loader, that work on the host; in time order.

    Attributes:
        events: int64[n].
        ts: int64[n].
        dur: int64[n].
        names: Their names, those with most time first.
    """

    events: NDArray[np.int64]
    ts: Times
    dur: Times
    names: tuple[str, ...]


@signal()
def working(s: Signals) -> CpuOperatorCalls:
    """PyTorch operators that launch no device work and usually take at least 50 µs."""
    need_device(s.trace)
    need_operators(s.trace)
    if not s(linked):
        # All operators look as if they launched nothing.
        raise MissingInputError("device work is not linked to its launches", hint="record calls of the runtime as well")
    spans = Spans(s.trace)
    at = _slow(s, spans, max(s(operator_ns) * _TIMES, _WORKING_NS))
    waits = loader_waits(s.trace)
    waits = waits[spans.dur[waits] > 0]
    waits = waits[np.lexsort((spans.ts[waits], spans.track[waits]))]
    at = at[~_in_last(spans, at, waits)]
    at = at[np.lexsort((spans.id[at], spans.ts[at]))]
    dur = spans.dur[at]
    names, index = np.unique(spans.name[at], return_inverse=True)
    total = np.bincount(index, dur, names.size) if names.size else np.zeros(0)
    known = s.trace.once(names_by_id)
    longest = tuple(known[name_id] for name_id in names[np.argsort(-total, kind="stable")].tolist())
    return CpuOperatorCalls(spans.id[at].astype(np.int64), spans.ts[at], dur, longest)


def _slow(s: Signals, spans: Spans, least: int) -> NDArray[np.int64]:
    """Positions of operators in steps whose own work takes that long in the median call, and which launch nothing."""
    known = {name_id for name_id, name in s.trace.once(names_by_id).items() if _KNOWN.match(name)}
    named = np.zeros(max(s.trace.once(names_by_id), default=0) + 1, np.bool_)
    named[list(known)] = True
    at = np.flatnonzero(_alone(s, spans) & (spans.step >= 0) & (spans.dur > 0))
    at = at[named[spans.name[at]]]
    name = spans.name[at]
    # The lower median is as long if no more than so many are shorter.
    count, shorter = (np.bincount(name[mine], minlength=named.size) for mine in (slice(None), spans.dur[at] < least))
    slow = (count > 0) & (shorter <= (count - 1) // 2)
    at = at[slow[name]]
    # What one of them calls is part of its time.
    chosen = np.zeros(spans.dur.size + 1, np.bool_)
    chosen[at] = True
    return at[~chosen[spans.around[at]]]


def _alone(s: Signals, spans: Spans) -> NDArray[np.bool_]:
    """Whether each event is an operator that launches nothing and spends most of its time itself, bool[n].

    It may call others that call none and take up to half of its time: GEMMs resolve their operands first, and a sort
    makes room for its result.
    """
    ops = spans.of("op")
    calls = np.flatnonzero((ops | spans.of("runtime", "launch", "sync", "queue", "gc")) & (spans.around >= 0))
    launching = spans.rows(DeviceWork.of(s.trace).op)
    busy = ~ops
    busy[launching[launching >= 0]] = True
    outer = busy.copy()
    outer[spans.around[calls]] = True
    alone = ops & ~busy
    alone[spans.around[calls[outer[calls]]]] = False
    inner = np.bincount(spans.around[calls], np.maximum(spans.dur[calls], 0), spans.dur.size)
    return alone & (2 * inner <= spans.dur)


def _in_last(spans: Spans, at: NDArray[np.int64], waits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each event starts in the last of these waits that has started on its thread, bool[n]."""
    found = np.zeros(at.size, np.bool_)
    for track in np.unique(spans.track[waits]).tolist():
        its, mine = waits[spans.track[waits] == track], np.flatnonzero(spans.track[at] == track)
        last = np.searchsorted(spans.ts[its], spans.ts[at[mine]], side="right") - 1
        stop = spans.ts[its] + spans.dur[its]
        found[mine] = (last >= 0) & (spans.ts[at[mine]] < stop[last])
    return found


@signal("share")
def working_share(s: Signals) -> float:
    """Host time of operators that compute on the host as a share of the mean step."""
    return int(s(working).dur.sum()) / s(recorded_steps) / s(step_ns)
