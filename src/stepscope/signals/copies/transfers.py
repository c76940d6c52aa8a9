"""Copies between host and device: kinds of memory, rate, and whether the host waited."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import SOON_NS, blocking_names, synchronising_names
from stepscope.analyses.shared.needs import need_device
from stepscope.model.device_table.host_link import host_link
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.copies import DIRECTIONS as COPY_DIRECTIONS
from stepscope.model.events.copies import MEMORIES, Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.signals.shared.job import device, recorded_ns, recorded_steps
from stepscope.signals.shared.operations import Ids
from stepscope.signals.shared.step_columns import longest
from stepscope.signals.signal import Signals, signal

HTOD, DTOH, DTOD, MEMSET, OTHER = DIRECTIONS = ("HtoD", "DtoH", "DtoD", "set", "other")
PAGEABLE, PINNED, DEVICE, MANAGED, UNKNOWN = KINDS = MEMORIES

#: Part of the host link's rate that copies from page-locked memory come to.
_REACHED: Final = 0.75
#: What they come to where the link is not known: PCI Express 3.0 in practice.
_SLOWEST: Final = 12e9
#: Copies of at least this size show the rate of the link, bytes.
_LARGE: Final = 1 << 20
#: Time that a copy takes besides moving its bytes.
_FIXED_NS: Final = 2_000
#: Operators whose work is done by a library (cuDNN, MIOpen, cuBLAS, cuSOLVER), which copies tables of its own when it
#: is first used.
_COMPUTES: Final = re.compile(
    r"aten::(_?conv|convolution|slow_conv|thnn_|cudnn_|_cudnn|miopen_|batch_norm|_batch_norm|native_batch_norm|"
    r"native_layer_norm|(add|b|badd|addb)?mm\b|baddbmm|addbmm|addmv|matmul|linear|_?scaled_dot_product|_flash|_efficient|"
    r"_?fft|_?linalg|lstm|gru|rnn|_thnn_fused)"
)

_BYTES_SQL: Final = "SELECT event, coalesce(bytes, 0) AS bytes FROM kernels WHERE kind IN ('copy', 'set')"


@dataclass(frozen=True, slots=True, eq=False)
class CopyTransfers:
    """The n copies and memsets of a rank's devices, in time order.

    Attributes:
        event: int64[n].
        ts: int64[n].
        dur: int64[n].
        track: int32[n], queue.
        device: int32[n]; -1 if not recorded.
        step: int32[n]; -1 outside every step.
        direction: int8[n], position in `DIRECTIONS`.
        bytes: int64[n]; 0 if not recorded.
        src: int8[n], position in `KINDS`.
        dst: int8[n], likewise.
        launch: int64[n], the call; -1 if not recorded.
        op: int64[n], the operator; -1 if not known.
        called: int64[n], start of the call; -1 if not recorded.
        returned: int64[n], its end.
        blocking: bool[n], whether the call, by its name, returns only when the copy is done.
        wait: int64[n], the call right after it that waits for the device; -1 if there is none.
        waited: int64[n], how long that call took.
    """

    event: Ids
    ts: Ids
    dur: Ids
    track: NDArray[np.int32]
    device: NDArray[np.int32]
    step: NDArray[np.int32]
    direction: NDArray[np.int8]
    bytes: Ids
    src: NDArray[np.int8]
    dst: NDArray[np.int8]
    launch: Ids
    op: Ids
    called: Ids
    returned: Ids
    blocking: NDArray[np.bool_]
    wait: Ids
    waited: Ids

    def where(self, kept: NDArray[Any]) -> CopyTransfers:
        """A selection of the copies, by mask or positions."""
        return CopyTransfers(*(getattr(self, name)[kept] for name in self.__slots__))

    def to(self, direction: str) -> NDArray[np.bool_]:
        """Whether they go in a direction, bool[n]."""
        mine: NDArray[np.bool_] = self.direction == DIRECTIONS.index(direction)
        return mine

    def between(self, *kinds: str) -> NDArray[np.bool_]:
        """Whether one end is memory of one of these kinds, bool[n]."""
        codes = [KINDS.index(kind) for kind in kinds]
        return np.isin(self.src, codes) | np.isin(self.dst, codes)

    @property
    def blocked_ns(self) -> int:
        """Host time of blocking calls, as far as it is waiting for their copies, and of waits after them, ns."""
        held = np.maximum(np.minimum(self.returned, self.ts + self.dur) - self.called, 0)
        return int(held[self.launch >= 0].sum() + self.waited.sum())

    @property
    def held(self) -> Ids:
        """Calls in which the host waits for these copies."""
        calls: Ids = np.unique(np.append(self.launch[self.launch >= 0], self.wait[self.wait >= 0]))
        return calls

    @property
    def longest(self) -> Ids:
        """Events of the longest copies."""
        return longest(self.event, self.dur)

    def steps(self) -> int:
        """Number of steps that have any of them."""
        return int(np.unique(self.step[self.step >= 0]).size)


@signal()
def transfers(s: Signals) -> CopyTransfers:
    """Copies and memsets of the rank's devices that the program asked for.

    Left out are copies that a library makes inside a convolution or a GEMM, and pages of managed memory that migrate on
    access.
    """
    found = s(recorded)
    return found.where(~_migrates(found))


@signal()
def migrating(s: Signals) -> CopyTransfers:
    """Pages of managed memory that the driver moves, on access or ahead of it."""
    found = s(recorded)
    return found.where(_migrates(found))


def _migrates(found: CopyTransfers) -> NDArray[np.bool_]:
    managed = KINDS.index(MANAGED)
    alone: NDArray[np.bool_] = (found.called < 0) & (found.src == managed) & (found.dst == managed)
    return alone


@signal()
def recorded(s: Signals) -> CopyTransfers:
    """Copies, memsets and migrations of the rank's devices but for copies that a library makes for itself."""
    need_device(s.trace)
    rows = s.trace.columns(_BYTES_SQL)
    if not rows["event"].size:
        raise MissingInputError(
            "the recording has no copies", hint="record the device's memory operations together with its kernels"
        )
    spans, work, copies = Spans(s.trace), DeviceWork.of(s.trace), Copies.of(s.trace)
    at = work.rows(s.trace, rows["event"])
    order = np.lexsort((rows["event"], work.ts[at]))
    at, size = at[order], rows["bytes"][order]
    asked = ~_of_library(s, work.op[at])
    at, size = at[asked], size[asked]
    row = copies.rows(at)  # one row more stands for what has none
    known = np.append(copies.bytes, -1)[row]
    direction = np.append(copies.direction, np.int8(len(COPY_DIRECTIONS) - 1))[row]
    direction = np.where(direction < len(COPY_DIRECTIONS) - 1, direction, DIRECTIONS.index(OTHER))
    returned = np.where(work.launched[at], work.called[at] + np.maximum(work.call_ns[at], 0), -1)
    call = spans.rows(work.launch[at])
    blocking = np.isin(spans.name[call], blocking_names(s.trace)) & (call >= 0)
    wait, waited = _waits(s, work.thread[at], returned)
    return CopyTransfers(
        event=work.event[at], ts=work.ts[at], dur=work.dur[at], track=work.track[at], device=work.device[at],
        step=work.step[at],
        direction=np.where(work.are("set")[at], DIRECTIONS.index(MEMSET), direction).astype(np.int8),
        bytes=np.where(known >= 0, known, size),
        src=np.append(copies.src, np.int8(len(KINDS) - 1))[row],
        dst=np.append(copies.dst, np.int8(len(KINDS) - 1))[row],
        launch=work.launch[at], op=work.op[at], called=work.called[at], returned=returned, blocking=blocking,
        wait=wait, waited=waited,
    )  # fmt: skip


def _of_library(s: Signals, operators: Ids) -> NDArray[np.bool_]:
    """Whether each of these operators only computes, so that copies inside it are its library's."""
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    rows = spans.rows(operators)
    own = [name_id for name_id, name in names.items() if _COMPUTES.match(name)]
    found: NDArray[np.bool_] = (rows >= 0) & np.isin(spans.name[rows], own)
    return found


def _waits(s: Signals, thread: NDArray[np.int32], returned: Ids) -> tuple[Ids, Ids]:
    """`wait` and `waited` of `CopyTransfers`."""
    spans, work = Spans(s.trace), DeviceWork.of(s.trace)
    waits = np.flatnonzero(np.isin(spans.name, synchronising_names(s.trace)))
    waits = waits[np.lexsort((spans.ts[waits], spans.track[waits]))]
    wait, waited = np.full(thread.size, -1), np.zeros(thread.size, np.int64)
    for track in np.unique(thread).tolist():
        its, mine = waits[spans.track[waits] == track], np.flatnonzero(thread == track)
        first = np.searchsorted(spans.ts[its], returned[mine])
        mine, first = mine[first < its.size], its[first[first < its.size]]
        soon = spans.ts[first] - returned[mine] <= SOON_NS
        # Behind work that was launched in between, it waits for that.
        called = np.sort(work.called[work.launched & ~work.are("sync") & (work.thread == track)])
        soon &= np.searchsorted(called, spans.ts[first]) == np.searchsorted(called, returned[mine])
        wait[mine[soon]] = spans.id[first[soon]]
        waited[mine[soon]] = np.maximum(spans.dur[first[soon]], 0)
    return wait, waited


@signal("bytes/s")
def pinned_rate(s: Signals) -> float:
    """Rate of copies from page-locked memory, bytes/s: as recorded, else that of the device's link to its host."""
    found = s(transfers)
    large = found.where(found.to(HTOD) & (found.src == KINDS.index(PINNED)) & (found.bytes >= _LARGE))
    if large.event.size and large.dur.sum():
        return float(large.bytes.sum()) * 1e9 / float(large.dur.sum())
    known = s.maybe(device)
    link = host_link(known) if known is not None else None
    return _REACHED * link if link else _SLOWEST


@signal("bytes/s")
def link_rate(s: Signals) -> float:
    """What the device's link to its host carries in one direction, bytes/s, with all of its lanes."""
    known = s.maybe(device)
    link = host_link(known) if known is not None else None
    if link is None:
        raise MissingInputError("the device's link to the host is not known", hint="state it with --device")
    return float(link)


def large_rate(found: CopyTransfers) -> float | None:
    """Rate of copies that are large enough to show that of the link, bytes/s; None without any."""
    large = found.bytes >= _LARGE
    took = int(found.dur[large].sum())
    return float(found.bytes[large].sum()) * 1e9 / took if took else None


def pinned_factors(s: Signals, found: CopyTransfers) -> NDArray[np.float64]:
    """Factor of each copy's time from page-locked memory, at most 1."""
    expected = _FIXED_NS + found.bytes * 1e9 / s(pinned_rate)
    factors: NDArray[np.float64] = np.minimum(expected / np.maximum(found.dur, 1), 1.0)
    return factors


def in_most_steps(s: Signals, found: CopyTransfers) -> bool:
    """Whether these copies recur in most steps, instead of being made once."""
    return 2 * found.steps() >= s(recorded_steps)


def exposed_ns(s: Signals, found: CopyTransfers) -> int:
    """Time of copies during which their device did nothing else, ns; what several copy at a time counts once."""
    device = DeviceWork.of(s.trace)
    at = np.flatnonzero(device.are("compute", "comm"))
    device_of, starts = device.device[at], device.ts[at]
    ends = starts + device.dur[at]
    exposed = []
    for index in np.unique(found.device).tolist():
        copies, work = found.device == index, device_of == index
        moving = Intervals.union_of(found.ts[copies], found.ts[copies] + found.dur[copies])
        exposed.append(moving - Intervals.union_of(starts[work], ends[work]))
    return Intervals.union_of_all(exposed).total


def share(s: Signals, ns: int) -> float:
    """A time as a share of the recorded steps."""
    return ns / s(recorded_ns)
