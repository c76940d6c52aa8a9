"""Calls in which the host waits for the device: number, reason and place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle.host_work import unseen_work
from stepscope.analyses.shared.host_waits import SOON_NS
from stepscope.analyses.shared.needs import need_calls, need_device
from stepscope.model import runtime_names
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.copies import DIRECTIONS
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.trace import Trace
from stepscope.signals.host.waiting import ONE_NUMBER, Around, around, launched_before, waiting
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.signal import Signals, signal

#: Why the host waits: an operator needs a number (`.item()`), or the size of its result (`nonzero`); a copy is to be
#: done before the program goes on; the program asks for the whole device, a stream or an event; a library waits by
#: itself inside an operator that reads nothing (cuDNN for its own events, an allocator that gives memory back).
SCALAR, RESULT, COPY, DEVICE, STREAM, EVENT, LIBRARY = KINDS = (
    "scalar", "result", "copy", "device", "stream", "event", "library",
)  # fmt: skip

_READ_SCALAR: Final = frozenset(
    {"aten::item", runtime_names.SCALAR_READ, "aten::is_nonzero", "aten::equal", "aten::allclose"}
)
#: Operators whose result has a size that the host must know, or that check on the host what they computed.
_SIZED: Final = re.compile(
    r"aten::(nonzero|argwhere|masked_select|masked_scatter|_?unique|unique_(dim|consecutive)|index(_put_?)?\b|"
    r"_index_put_impl_|repeat_interleave|bincount|histc|multinomial|where$|_?linalg|_ctc_loss|ctc_loss|"
    r"_pack_padded_sequence|_embedding_bag|segment_reduce|combinations|tril_indices|_assert)"
)
#: A copy of at most so many bytes to the host brings numbers.
_NUMBERS: Final = 4096
_COPY_OPERATORS: Final = frozenset(
    {"aten::copy_", "aten::to", "aten::_to_copy", "aten::cpu", "aten::cuda", "aten::contiguous", "aten::clone"}
)
#: Up to this size CUDA copies from pageable memory without waiting (CUDA driver API, synchronisation behaviour).
_SMALL_COPY: Final = 64 << 10

#: A kernel that takes longer than any usual launch call shows whether the call waits for it: it returns soon after.
_LONG_KERNEL_NS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Blocking:
    """The n calls in steps that keep the host waiting for the device, in time order.

    Attributes:
        events: int64[n].
        ts: int64[n].
        dur: int64[n].
        kind: int8[n], position in `KINDS`.
        staged: bool[n], waits for a larger copy from pageable memory to the device, which cannot do without.
    """

    events: NDArray[np.int64]
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    kind: NDArray[np.int8]
    staged: NDArray[np.bool_]

    def of(self, *kinds: str) -> Blocking:
        """Those of some kinds."""
        mine = np.isin(self.kind, [KINDS.index(kind) for kind in kinds])
        return self.where(mine)

    def where(self, mine: NDArray[np.bool_]) -> Blocking:
        """Those that are marked."""
        return Blocking(self.events[mine], self.ts[mine], self.dur[mine], self.kind[mine], self.staged[mine])

    def longest(self, most: int = 20) -> NDArray[np.int64]:
        """Events of the longest ones."""
        return self.events[np.argsort(-self.dur, kind="stable")[:most]]


@dataclass(frozen=True, slots=True)
class KernelLaunches:
    """The n calls in steps that launch kernels one by one.

    Attributes:
        events: int64[n].
        dur: int64[n].
        long: bool[n], whether the kernel is long enough to show whether the call waits for it.
        blocking: bool[n], whether the call returned right after its kernel was done.
    """

    events: NDArray[np.int64]
    dur: NDArray[np.int64]
    long: NDArray[np.bool_]
    blocking: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class WaitPlace:
    """Where the program waits: a row of the table `synchronisations`."""

    call: str
    operator: str | None
    annotation: str | None
    line: str | None
    count: int
    total_ns: int

    @property
    def scope(self) -> str:
        """Why the program waits there, one of `KINDS`, judged by call and operator."""
        if self.operator in _READ_SCALAR:
            return SCALAR
        scope = runtime_names.wait_scope(self.call)
        if scope == DEVICE and runtime_names.is_synchronisation(self.call):
            return DEVICE
        if self.operator in _COPY_OPERATORS or not runtime_names.is_synchronisation(self.call):
            return COPY
        if self.operator is None:
            return scope
        return RESULT if _SIZED.match(self.operator) else LIBRARY

    @property
    def text(self) -> str:
        """The place as readers of a report would name it."""
        return self.line or self.annotation or self.operator or self.call

    @property
    def row(self) -> dict[str, Any]:
        """The table row, for evidence."""
        return {"table": "synchronisations", "where": {"name": self.call, "operator": self.operator}}


@signal()
def calls(s: Signals) -> Blocking:
    """Calls in steps that keep the host waiting for the device, with the reason of each.

    Waits before the first launch of a recording are for work from before it, and are left out.
    """
    need_device(s.trace)
    need_calls(s.trace)
    spans, at = Spans(s.trace), waiting(s.trace)
    at = at[spans.ts[at] >= _first_launch(s.whole.trace)]
    found = around(s.trace, at)
    events, ts, dur = spans.id[at].astype(np.int64), spans.ts[at], np.maximum(spans.dur[at], 0)
    return Blocking(events, ts, dur, _kinds(found, s.trace.once(names_by_id)), staged(found))


def _first_launch(trace: Trace) -> int:
    """Time of the first recorded launch; 0 if none is recorded."""
    work = DeviceWork.of(trace)
    return int(work.called[work.launched].min()) if work.launched.any() else 0


@signal()
def launching(s: Signals) -> KernelLaunches:
    """Calls in steps that launch kernels one by one."""
    need_device(s.trace)
    work = DeviceWork.of(s.trace)
    mine = np.flatnonzero(work.are("compute") & (work.call_step >= 0) & ~work.in_graph)
    mine = mine[np.argsort(work.launch[mine], kind="stable")]
    launch, took = work.launch[mine], np.maximum(work.call_ns[mine], 0)
    first = np.flatnonzero(np.diff(launch, prepend=-1))
    after = work.called[mine] + took - work.ts[mine] - work.dur[mine]
    soon = (after >= 0) & (after <= SOON_NS)
    if not first.size:
        return KernelLaunches(launch, took, soon, soon)
    longest = np.maximum.reduceat(work.dur[mine], first)
    return KernelLaunches(launch[first], took[first], longest >= _LONG_KERNEL_NS, np.logical_and.reduceat(soon, first))


@signal("count")
def launches(s: Signals) -> int:
    """Calls in steps that launch kernels one by one."""
    return int(s(launching).events.size)


@signal("per launch")
def per_launch(s: Signals) -> float:
    """Waits of the host for kernels per kernel launch.

    A wait right after another one, with nothing launched between, is the same wait. One behind a copy waits for a
    result, and one behind a graph for many kernels: neither counts.
    """
    found, work = s(calls), DeviceWork.of(s.trace)
    mine = np.flatnonzero(work.launched & ~work.are("sync"))
    mine = mine[np.lexsort((work.ts[mine], work.called[mine]))]
    called, kernel = work.called[mine], (work.are("compute") & ~work.in_graph)[mine]
    before = np.searchsorted(called, found.ts, side="right")
    ended = np.maximum.accumulate(found.ts + found.dur) if found.ts.size else found.ts
    launched = before > np.searchsorted(called, np.append(np.iinfo(np.int64).min, ended[:-1])[: found.ts.size])
    behind = launched & np.append(False, kernel)[before]
    return int(np.count_nonzero(behind)) / max(s(launches), 1)


@signal("share")
def blocking_launches(s: Signals) -> float:
    """Share of launches that returned only when their kernel was done, among those of kernels of 20 µs or more."""
    found = s(launching)
    return float(np.count_nonzero(found.blocking & found.long)) / max(int(np.count_nonzero(found.long)), 1)


@signal("per step")
def scalar_reads(s: Signals) -> float:
    """Operators per step that wait for a number from the device, or for the size of their result."""
    spans, found = Spans(s.trace), s(calls).of(SCALAR, RESULT)
    rows = spans.rows(found.events).astype(np.int64)
    around = spans.around[rows]
    # PyTorch's read is a copy and a wait for its stream, in one operator.
    in_one = (around >= 0) & spans.of("op")[around]
    return (np.unique(around[in_one]).size + _separate(s.trace, rows[~in_one])) / s(recorded_steps)


def _separate(trace: Trace, at: NDArray[np.int64]) -> int:
    """Waits at these positions in `Spans`; one with nothing launched since another one is the same."""
    last = np.stack([Spans(trace).track[at], launched_before(trace, at)])
    return int(np.unique(last, axis=1).shape[1])


@signal("per step")
def device_waits(s: Signals) -> float:
    """Waits per step for the whole device."""
    return s(calls).of(DEVICE).events.size / s(recorded_steps)


@signal()
def needless(s: Signals) -> Blocking:
    """Waits that the program asks for and that take nothing if removed: all but those for work that nobody recorded."""
    found = s(calls).of(DEVICE, STREAM, EVENT)
    seen: NDArray[np.bool_] = s.trace.once(unseen_work).within(found.ts, found.ts + found.dur) == 0
    return found.where(seen)


@signal("per step")
def stream_waits(s: Signals) -> float:
    """Waits per step for a stream or an event, outside copies and operators that read numbers."""
    return s(calls).of(STREAM, EVENT).events.size / s(recorded_steps)


@signal("per step")
def copy_waits(s: Signals) -> float:
    """Waits per step for a copy, without larger ones from pageable memory to the device."""
    found = s(calls).of(COPY)
    return int(np.count_nonzero(~found.staged)) / s(recorded_steps)


@signal()
def places(s: Signals) -> tuple[WaitPlace, ...]:
    """Where the program waits for the device, the longest first."""
    rows = s.table("synchronisations").arrow.to_pylist()
    return tuple(
        WaitPlace(row["name"], row["operator"], row["annotation"], row["line"], row["count"], row["total_ns"])
        for row in rows
    )


def staged(found: Around) -> NDArray[np.bool_]:
    """Whether each call waits for a larger copy from pageable memory to the device."""
    towards: NDArray[np.bool_] = found.direction == DIRECTIONS.index("HtoD")
    return found.copied & found.pageable & towards & (found.bytes > _SMALL_COPY)


def _kinds(found: Around, names: dict[int, str]) -> NDArray[np.int8]:
    """The reason of each wait, one of `KINDS`."""

    def inside_of(wanted: frozenset[str]) -> NDArray[np.bool_]:
        ids = [name_id for name_id, name in names.items() if name in wanted]
        inside: NDArray[np.bool_] = np.asarray(np.isin(found.operators, ids).any(axis=0), np.bool_)
        return inside

    # A copy that blocks waits for its own stream.
    called, which = np.unique(found.name, return_inverse=True)
    scopes = [
        runtime_names.wait_scope(name) if runtime_names.is_synchronisation(name) else STREAM
        for name in (names[name_id] for name_id in called.tolist())
    ]
    scope = np.array(scopes, object)[which]
    inside, copied = found.operators[0] >= 0, found.copied
    away = copied & (found.direction == DIRECTIONS.index("DtoH"))
    number = away & (found.bytes <= ONE_NUMBER)
    # What operators outside PyTorch need is recognised by what they copy.
    sized = inside_of(frozenset(name for name in names.values() if _SIZED.match(name))) | (
        away & (found.bytes <= _NUMBERS)
    )
    narrow = scope != DEVICE
    # The first that holds; operators never wait for the whole device by themselves, so that is asked for.
    cases = [
        inside_of(_READ_SCALAR) | narrow & number,
        ~narrow,
        inside_of(_COPY_OPERATORS) | copied & ~inside,
        inside & sized,
        inside,
        scope == STREAM,
    ]
    kinds = [KINDS.index(kind) for kind in (SCALAR, DEVICE, COPY, RESULT, LIBRARY, STREAM)]
    return np.select(cases, kinds, KINDS.index(EVENT))
