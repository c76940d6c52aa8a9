"""Kinds of copies that a program could avoid or speed up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle.host_work import MPI_CALL
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.signals.copies.transfers import (
    DEVICE,
    DTOD,
    DTOH,
    HTOD,
    MANAGED,
    MEMSET,
    PAGEABLE,
    PINNED,
    CopyTransfers,
    exposed_ns,
    transfers,
)
from stepscope.signals.shared.host_cost import outermost
from stepscope.signals.shared.job import recorded_steps, stepless
from stepscope.signals.shared.operations import Ids
from stepscope.signals.shared.program import program
from stepscope.signals.signal import Signals, signal

#: Operators that do nothing but copy.
_COPY_OPERATORS: Final = ("aten::copy_", "aten::clone", "aten::contiguous", "aten::_to_copy", "aten::_foreach_copy_")
#: Less than a page is a number or a few, not a batch.
_PAGE: Final = 4096
#: Up to this size, copies from pageable memory to the device return before they are done, and Nsight Systems' rules
#: leave synchronous ones alone.
SMALL: Final = 64 * 1024


@signal()
def pageable(s: Signals) -> CopyTransfers:
    """Copies between the device and pageable memory: from 4 KiB to the device, from 64 KiB to the host.

    Where no steps of a PyTorch program are known, what it copies before its first GEMM is the model, once.
    """
    found = s(transfers)
    if s(stepless) and s(program).pytorch:
        work = DeviceWork.of(s.trace)
        multiplied = np.isin(work.op_class, [OP_CLASSES.index(one) for one in ("gemm", "attention", "convolution")])
        first = work.ts[multiplied].min(initial=np.iinfo(np.int64).max)
        found = found.where(~found.to(HTOD) | (found.ts >= first) | ~multiplied.any())
    towards = found.to(HTOD) & (found.bytes >= _PAGE)
    away = found.to(DTOH) & (found.bytes >= SMALL)
    return found.where(found.between(PAGEABLE) & (towards | away))


@signal("ns")
def pageable_exposed_ns(s: Signals) -> int:
    """Time of `pageable` copies during which their device did nothing else."""
    return exposed_ns(s, s(pageable))


@signal()
def synchronous(s: Signals) -> CopyTransfers:
    """Large copies by calls that return only when they are done, from or to memory that is not pageable."""
    found = s(transfers)
    large = (found.to(HTOD) & (found.bytes > SMALL)) | (found.to(DTOH) & (found.bytes >= _PAGE))
    return found.where(found.blocking & ~found.between(PAGEABLE) & large & ~found.to(DTOD))


@signal()
def small(s: Signals) -> CopyTransfers:
    """Copies of less than 64 KiB from the host to the device."""
    found = s(transfers)
    return found.where(found.to(HTOD) & (found.bytes > 0) & (found.bytes < SMALL) & (found.step >= 0))


@signal()
def asynchronous(s: Signals) -> CopyTransfers:
    """Copies between host and device for which the host need not wait."""
    found = s(transfers)
    waited = found.blocking | (found.wait >= 0)
    return found.where((found.to(HTOD) | found.to(DTOH)) & ~found.between(PAGEABLE) & ~waited)


@signal()
def with_host(s: Signals) -> CopyTransfers:
    """All copies between host and device."""
    found = s(transfers)
    return found.where(found.to(HTOD) | found.to(DTOH))


@signal()
def on_device(s: Signals) -> CopyTransfers:
    """Copies from one place of a device's memory to another by operators that copy."""
    found = s(transfers)
    return found.where(found.to(DTOD) & np.isin(copying_operators(s, found), _COPY_OPERATORS))


def copying_operators(s: Signals, found: CopyTransfers) -> list[str]:
    """Name of the operator that each copy is made for: of those that only copy the outermost; empty if unknown."""
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    copies = np.isin(spans.name, [number for number, name in names.items() if name in _COPY_OPERATORS])
    rows = spans.rows(found.op)
    for _ in _COPY_OPERATORS:
        around = np.where(rows >= 0, spans.around[rows], -1)
        rows = np.where((around >= 0) & copies[around], around, rows)
    return [names[int(spans.name[row])] if row >= 0 else "" for row in rows.tolist()]


@signal()
def memsets(s: Signals) -> CopyTransfers:
    """Memsets of page-locked or managed memory by calls that return only when they are done."""
    found = s(transfers)
    held = (found.launch >= 0) & (found.returned >= found.ts + found.dur)
    return found.where(found.to(MEMSET) & found.between(PINNED, MANAGED) & ~found.between(DEVICE) & held)


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """The effect of packing the many small copies of a step into one.

    Attributes:
        gone: Copies that go away: all but the first of each step.
        calls: int64[m], the outermost operators that do nothing but such copies, else the calls that launch them.
        host_ns: Time of these on the host, with waits.
        per_step: Copies per step.
    """

    gone: CopyTransfers
    calls: Ids
    host_ns: int
    per_step: float


@signal()
def packed(s: Signals) -> Packed:
    """Small copies that are saved if those of a step are packed into one."""
    found = s(small)
    first = np.zeros(found.event.size, np.bool_)
    first[np.unique(found.step, return_index=True)[1]] = True
    gone = found.where(~first)
    operators = outermost(s.trace, gone.op, gone.event)
    calls = np.unique(np.where(operators >= 0, operators, gone.launch))
    calls = calls[calls >= 0]
    spans = Spans(s.trace)
    rows = spans.rows(calls)
    host = int(np.maximum(spans.dur[rows[rows >= 0]], 0).sum())
    return Packed(gone, calls, host, found.event.size / s(recorded_steps))


@signal()
def round_trips(s: Signals) -> CopyTransfers:
    """Pairs of copies: to the host, which waits, and back with as many bytes in the same step.

    None without steps: parts of one array that are copied out and in one after the other have equal sizes as well.
    """
    found = s(transfers)
    if s(stepless):
        return found.where(np.zeros(found.event.size, np.bool_))
    large = found.where((found.bytes >= SMALL) & (found.step >= 0))
    held = large.between(PAGEABLE) | large.blocking | (large.wait >= 0)
    pairs = _pairs(large, np.flatnonzero(large.to(DTOH) & held), np.flatnonzero(large.to(HTOD)))
    return large.where(pairs)


@signal("share")
def messages_between(s: Signals) -> float:
    """Round trips between whose copies the host calls MPI: their data go to other processes."""
    found = s(round_trips)
    if not found.event.size:
        return 0.0
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    messages = [name_id for name_id, name in names.items() if MPI_CALL.match(name)]
    at = np.sort(spans.ts[np.isin(spans.name, messages)])
    away, back = found.ts[0::2] + found.dur[0::2], found.called[1::2]
    between = np.searchsorted(at, np.maximum(back, away)) > np.searchsorted(at, away)
    return float(between.mean())


def _pairs(found: CopyTransfers, away: Ids, back: Ids) -> NDArray[np.int64]:
    """Positions of copies to the host and the next ones back with as many bytes in the same step, each used once."""
    waiting: dict[tuple[int, int, int], list[int]] = {}
    for at in away.tolist():
        key = (int(found.device[at]), int(found.step[at]), int(found.bytes[at]))
        waiting.setdefault(key, []).append(at)
    pairs: list[int] = []
    for at in back.tolist():
        candidates = waiting.get((int(found.device[at]), int(found.step[at]), int(found.bytes[at])), [])
        # The host can send back only what has arrived when it calls.
        arrived = [other for other in candidates if found.ts[other] + found.dur[other] <= found.called[at]]
        if arrived:
            candidates.remove(arrived[0])
            pairs += [arrived[0], at]
    return np.array(pairs, np.int64)
