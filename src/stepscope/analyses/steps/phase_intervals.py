"""Phases of operators that lie between ranges whose names give their phase."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.needs import has_device
from stepscope.analyses.shared.recorded_events import names_of
from stepscope.analyses.steps.phase_names import BACKWARD, FORWARD, OPTIMIZER, PREPROCESSING, RECOMPUTATION, REST
from stepscope.model.events.columns import Spans
from stepscope.model.events.copies import DIRECTIONS, Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals, Times
from stepscope.model.trace import Trace

#: What only reads numbers from the device belongs to no pass.
_READS: Final = re.compile(r"^aten::(item|_local_scalar_dense|is_nonzero|equal)$")
#: Operators that an average of weights (EMA) is made of, and those of them that change a tensor, or a list of tensors.
_AVERAGING: Final = re.compile(
    r"^aten::(_(foreach|fused)_\w+|(mul|add|sub|rsub|div|lerp|copy|addcmul|axpy|zero)_?"
    r"|detach|to|_to_copy|item|is_nonzero|is_floating_point|eq|equal|size|view|select|result_type)$"
)
_IN_PLACE: Final = re.compile(r"^aten::\w*[a-z]_$")
_LISTED: Final = re.compile(r"^aten::_(foreach|fused)_")
#: Fewer operators that change a tensor each prepare a batch.
_LEAST_UPDATED: Final = 8
#: What is shorter is Python between two operators of one pass.
_PAUSE_NS: Final = 1_000_000
#: Kernels that a pass begins with; before them inputs are copied and prepared.
_BEGINNING: Final = ("gemm", "convolution", "attention", "embedding")


@dataclass(frozen=True, slots=True, eq=False)
class Ops:
    """The n outermost operators of the main thread, by start."""

    at: NDArray[np.int64]
    ts: Times
    end: Times


def outermost(spans: Spans, at: NDArray[np.int64]) -> Ops:
    """The operators of one thread that lie in no other."""
    ts, end = spans.ts[at], spans.ts[at] + np.maximum(spans.dur[at], 0)
    order = np.lexsort((-end, ts))
    at, ts, end = at[order], ts[order], end[order]
    outer = np.ones(at.size, np.bool_)
    outer[1:] = ts[1:] >= np.maximum.accumulate(end)[:-1]
    return Ops(at[outer], ts[outer], end[outer])


def assign(trace: Trace, ops: Ops, layers: list[Intervals], differentiated: Times) -> None:
    """Assign operators and modules between named phases to the phase that their neighbours imply.

    Args:
        trace: The trace.
        ops: Operators of the main thread.
        layers: When each phase is named; what is found is added.
        differentiated: int64[k] ascending, starts of the main thread's operators that a backward pass belongs to.
    """
    spans = Spans(trace)
    reads = np.isin(spans.name[ops.at], [i for i, name in names_of(trace, ("op",)) if _READS.match(name)])
    modules = np.flatnonzero(spans.of("module") & (spans.dur > 0))
    if ops.at.size:
        modules = modules[spans.track[modules] == spans.track[ops.at[0]]]
    work = Intervals.union_of(ops.ts[~reads], ops.end[~reads])
    work |= Intervals.union_of(spans.ts[modules], spans.ts[modules] + spans.dur[modules])
    if not len(work):
        return
    known = Intervals.union_of_all(layers)
    neighbours = _Neighbours.of(layers)
    trains = len(layers[BACKWARD]) > 0
    # An optimizer that only zeroes gradients where it is named updates somewhere else.
    updates = any(neighbours.before(ts) == BACKWARD for ts in layers[OPTIMIZER].starts.tolist())
    inputs, following = _inputs(trace, ops), _Following.of(trace, ops)
    device = trace.once(has_device)
    assigned: dict[int, list[tuple[int, int]]] = {FORWARD: [], OPTIMIZER: [], PREPROCESSING: []}
    bounds = known.complement(int(work.starts[0]), int(work.ends[-1]))
    for lo, hi in zip(bounds.starts.tolist(), bounds.ends.tolist(), strict=True):
        inside = work.clip(lo, hi)
        phase = neighbours.phase(hi, updates) if trains else FORWARD
        if trains and neighbours.before(hi) == OPTIMIZER:
            # What goes on with the weights after the optimizer's step belongs to the update.
            updated = following.until(lo, inputs.next_copy(lo, hi))
            own = inside.clip(lo, updated)
            if len(own):
                assigned[OPTIMIZER].append((int(own.starts[0]), updated))
                inside = inside.clip(updated, hi)
        # Gradients are often zeroed between the two passes.
        if phase == REST and np.searchsorted(differentiated, hi) > np.searchsorted(differentiated, lo):
            phase = FORWARD
        if not len(inside) or phase == REST:
            continue
        start, end = int(inside.starts[0]), int(inside.ends[-1])
        ready = inputs.ready(start, end) if phase == FORWARD else start
        assigned[PREPROCESSING].append((start, ready))
        passed = [(ready, end)] if device or phase != FORWARD else _without_pauses(inside, ready, end)
        assigned[phase].extend(passed)
    for phase, pairs in assigned.items():
        layers[phase] |= Intervals.union_of([a for a, _ in pairs], [b for _, b in pairs])


def _without_pauses(work: Intervals, start: int, end: int) -> list[tuple[int, int]]:
    """From the start to the end, but for long pauses: where no device is seen, the host does something else in them."""
    long = np.flatnonzero(work.starts[1:] - work.ends[:-1] >= _PAUSE_NS)
    starts, ends = (start, *work.starts[long + 1].tolist()), (*work.ends[long].tolist(), end)
    return list(zip(starts, ends, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """The intervals of all named phases, by start."""

    starts: Times
    phase_at: NDArray[np.int64]

    @classmethod
    def of(cls, layers: Sequence[Intervals]) -> _Neighbours:
        starts = np.concatenate([layer.starts for layer in layers])
        phase = np.repeat(np.arange(len(layers)), [len(layer) for layer in layers])
        order = np.argsort(starts, kind="stable")
        return cls(starts[order], phase[order])

    def before(self, when: int) -> int:
        """The phase that started last before a moment."""
        at = int(np.searchsorted(self.starts, when)) - 1
        return int(self.phase_at[at]) if at >= 0 else REST

    def after(self, when: int) -> int:
        """The phase that starts next at or after a moment."""
        at = int(np.searchsorted(self.starts, when))
        return int(self.phase_at[at]) if at < self.starts.size else REST

    def phase(self, when: int, updates: bool) -> int:
        """The phase of operators between two named phases of a training step.

        Before a backward pass they are the forward pass. Between it and the optimizer they prepare the update (scaling,
        clipping); after the last backward pass they are the update itself, if nothing else is named so.
        """
        before, after = self.before(when), self.after(when)
        if after in (BACKWARD, RECOMPUTATION):
            return FORWARD
        if before in (BACKWARD, RECOMPUTATION):
            return OPTIMIZER if after == OPTIMIZER or not updates else REST
        return FORWARD if after == OPTIMIZER and before != OPTIMIZER else REST


@dataclass(frozen=True, slots=True, eq=False)
class _Following:
    """Which of the n operators may average weights, and change a tensor, or a list of tensors, in doing so."""

    ops: Ops
    averaging: NDArray[np.bool_]
    in_place: NDArray[np.bool_]
    listed: NDArray[np.bool_]

    @classmethod
    def of(cls, trace: Trace, ops: Ops) -> _Following:
        name, known = Spans(trace).name[ops.at], names_of(trace, ("op",))
        averaging, in_place, listed = (
            np.isin(name, [i for i, text in known if pattern.match(text)])
            for pattern in (_AVERAGING, _IN_PLACE, _LISTED)
        )
        return cls(ops, averaging, averaging & (in_place | listed), listed)

    def until(self, start: int, limit: int) -> int:
        """The end of the operators that from a moment on, and before another, update tensors; the start if none do."""
        first, last = np.searchsorted(self.ops.ts, (start, limit)).tolist()
        others = np.flatnonzero(~self.averaging[first:last])
        last = first + int(others[0]) if others.size else last
        at = first + np.flatnonzero(self.in_place[first:last])
        if not at.size or (at.size < _LEAST_UPDATED and not self.listed[at].any()):
            return start
        return int(self.ops.end[at[-1]])


@dataclass(frozen=True, slots=True, eq=False)
class _Inputs:
    """Ends of operators that copy to the device, and when kernels that passes begin with were launched."""

    copied: Times
    passed: Times

    def next_copy(self, start: int, end: int) -> int:
        """The end of the first operator from a moment on that copies to the device, at most another moment."""
        first = int(np.searchsorted(self.copied, start))
        return min(int(self.copied[first]), end) if first < self.copied.size else end

    def ready(self, start: int, end: int) -> int:
        """When the inputs of a pass are on the device: the end of the last copy before its first GEMM."""
        first = int(np.searchsorted(self.passed, start))
        limit = min(int(self.passed[first]), end) if first < self.passed.size else end
        last = int(np.searchsorted(self.copied, limit, side="right")) - 1
        return max(int(self.copied[last]), start) if last >= 0 else start


def _inputs(trace: Trace, ops: Ops) -> _Inputs:
    work, copies = DeviceWork.of(trace), Copies.of(trace)
    inputs = copies.at[copies.direction == DIRECTIONS.index("HtoD")]
    gemms = np.flatnonzero(work.is_class(*_BEGINNING) & work.are("compute"))
    copied, passed = (np.sort(work.called[at][work.launched[at]]) for at in (inputs, gemms))
    holder = np.searchsorted(ops.ts, copied, side="right") - 1
    inside = holder >= 0
    inside[inside] = copied[inside] < ops.end[holder[inside]]
    return _Inputs(np.unique(ops.end[holder[inside]]), passed)
