"""Intervals of each phase on the host threads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_states import host_states
from stepscope.analyses.shared.recorded_events import names_of
from stepscope.analyses.steps.closures import closures, enclosing
from stepscope.analyses.steps.graph_phases import graph_phases
from stepscope.analyses.steps.phase_intervals import Ops, assign, outermost
from stepscope.analyses.steps.phase_names import BACKWARD, FORWARD, OPTIMIZER, PHASES, RECOMPUTATION, REST, phase_of
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, on_host
from stepscope.model.intervals import Intervals, Times
from stepscope.model.trace import Trace

_NAMED: Final = ("annotation", "module", "python", "dataloader", "op")
#: Operators of backward passes: PyTorch's engine, C++ and Python functions, and custom ones.
_BACKWARD: Final = re.compile(r"^autograd::engine::|Backward\d*$|_backward(\.\w+)?$")
_ENGINE: Final = "autograd::engine::evaluate_function"
#: TensorFlow runs operators of all passes side by side, as far as the one needs not what the other computes.
_UNORDERED: Final = re.compile(r"^(ExecutorState::Process|KernelAndDeviceFunc::Run)$")
_ZERO: Final = "aten::zero_"
_LEAST_ZEROED: Final = 8


@dataclass(frozen=True, slots=True)
class Marks:
    """The phases of a rank on its host.

    Attributes:
        layers: When the main thread was in each of `PHASES` but the last, or waited for another thread that was.
        backward: Tracks of the threads, other than the main one, that run backward passes.
        closures: When the optimizer's step ran forward and backward passes, which are not the optimizer's work.
    """

    layers: tuple[Intervals, ...]
    backward: tuple[int, ...]
    closures: Intervals


def phase_marks(trace: Trace) -> Marks:
    """Find the phases; ask for it with `Trace.once`.

    Raises:
        MissingInputError: Neither operators, nor ranges with names of phases, nor kernels with places are recorded.
    """
    states, spans = trace.once(host_states), Spans(trace)
    placed = bool((trace.once(graph_phases) >= 0).any())
    if states is None and placed:
        return Marks((Intervals.empty(),) * REST, (), Intervals.empty())
    if states is None:
        raise MissingInputError.of("operators")
    main = states.feeders[0]
    meant = {i: PHASES.index(found) for i, name in names_of(trace, _NAMED) if (found := phase_of(name)) is not None}
    named = _named(trace, main, meant)
    ops = np.flatnonzero(spans.of("op") & on_host(trace, spans.track) & (spans.dur >= 0))
    if not ops.size and not placed and not any(len(one) for one in named):
        raise MissingInputError.of("operators")
    backward, others, recomputed, forward = _backward(trace, ops, main)
    named[RECOMPUTATION] |= recomputed
    called = _closures(trace, main, meant, named, backward, forward)
    named[BACKWARD] |= backward
    mine = outermost(spans, ops[spans.track[ops] == main])
    named[OPTIMIZER] |= _zeroing(trace, mine)
    if not any(_UNORDERED.match(name) for _, name in names_of(trace, ("other",))):
        assign(trace, mine, named, forward)
    elif not any(len(one) for one in named):
        raise MissingInputError(
            "operators do not tell which pass they belong to",
            hint="mark the passes with tf.profiler.experimental.Trace",
        )
    return Marks(tuple(named), others, called)


def _named(trace: Trace, main: int, meant: dict[int, int]) -> list[Intervals]:
    """Intervals of ranges whose names give the phase, by position in `PHASES`.

    Backward and recomputation count on any thread, the others on the main one.

    Args:
        trace: The trace.
        main: Track of the main thread.
        meant: Position of the phase by name.
    """
    spans = Spans(trace)
    at = np.flatnonzero(np.isin(spans.name, list(meant)) & spans.of(*_NAMED) & on_host(trace, spans.track))
    at = at[spans.dur[at] > 0]
    code = np.array([meant[name] for name in spans.name[at].tolist()], np.int64)
    layers = []
    for position in range(REST):
        own = at[(code == position) & ((spans.track[at] == main) | (position == RECOMPUTATION))]
        layers.append(Intervals.union_of(spans.ts[own], spans.ts[own] + spans.dur[own]))
    return layers


def _closures(
    trace: Trace, main: int, meant: dict[int, int], named: list[Intervals], backward: Intervals, forward: Times
) -> Intervals:
    """Closures of optimizers, which are taken out of their steps; zeroing gradients in them is the optimizer's."""
    spans = Spans(trace)
    ours = (spans.track == main) & (spans.dur > 0)
    own = np.flatnonzero(ours & spans.of(*_NAMED) & np.isin(spans.name, [i for i in meant if meant[i] == OPTIMIZER]))
    around = enclosing(spans.ts[own], spans.ts[own] + spans.dur[own], backward)
    if not around.any():
        return Intervals.empty()
    steps, rest = (
        Intervals.union_of(spans.ts[one], spans.ts[one] + spans.dur[one]) for one in (own[around], own[~around])
    )
    zeroed = own[np.isin(spans.name[own], [i for i, name in names_of(trace, _NAMED) if "zero_grad" in name])]
    modules = np.flatnonzero(ours & spans.of("module"))
    signs = (forward, spans.ts[modules], spans.ts[zeroed] + spans.dur[zeroed], named[FORWARD].starts)
    found = closures(steps, backward, np.sort(np.concatenate((*signs, named[BACKWARD].starts))))
    named[OPTIMIZER] = (steps - found) | rest
    return found


def _backward(trace: Trace, ops: NDArray[np.int64], main: int) -> tuple[Intervals, tuple[int, ...], Intervals, Times]:
    """When backward passes ran, on which threads besides the main one, and when they recomputed activations.

    Last, the starts of the main thread's operators that the passes belong to, int64[k] ascending.
    """
    spans = Spans(trace)
    names = {name_id: name for name_id, name in names_of(trace, ("op",)) if _BACKWARD.search(name)}
    named = np.isin(spans.name[ops], list(names))
    mine = ops[named]
    flows = trace.columns(
        "SELECT source, target FROM flows WHERE kind = 'forward_backward' AND source IS NOT NULL AND target IS NOT NULL"
    )
    source, target = (spans.rows(flows[key]) for key in ("source", "target"))
    source, target = source[source >= 0], target[target >= 0]
    on_threads = np.append(spans.track[mine], spans.track[target])
    threads = tuple(int(track) for track in np.unique(on_threads[on_threads != main]).tolist())
    # Whatever such a thread does is part of the pass; the main thread waits for it.
    at = ops[named | np.isin(spans.track[ops], threads)]
    ran = Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])
    again = source[np.isin(spans.track[source], threads)]
    recomputed = Intervals.union_of(spans.ts[again], spans.ts[again] + np.maximum(spans.dur[again], 0))
    whole = at[np.isin(spans.name[at], [i for i, name in names.items() if name == "CheckpointFunctionBackward"])]
    if whole.size:
        inner = at[np.isin(spans.name[at], [i for i, name in names.items() if name.startswith(_ENGINE)])]
        around = Intervals.union_of(spans.ts[whole], spans.ts[whole] + spans.dur[whole])
        inner = inner[around.at(spans.ts[inner])]
        recomputed |= around - Intervals.union_of(spans.ts[inner], spans.ts[inner] + spans.dur[inner])
    main_ops = outermost(spans, ops[(spans.track[ops] == main) & ~named])
    forward = np.sort(spans.ts[source[spans.track[source] == main]])
    return _joined(ran, main_ops.ts), threads, recomputed, forward[~recomputed.at(forward)]


def _joined(intervals: Intervals, breaks: Times) -> Intervals:
    """Intervals with the gaps between neighbours filled in which no moment of `breaks` lies."""
    if len(intervals) < 2:
        return intervals
    ends, starts = intervals.ends[:-1], intervals.starts[1:]
    free = np.searchsorted(breaks, ends) == np.searchsorted(breaks, starts)
    return intervals | Intervals.union_of(ends[free], starts[free])


def _zeroing(trace: Trace, ops: Ops) -> Intervals:
    """Rows of operators that zero a tensor each: gradients, by an optimizer that has no annotation."""
    zero = np.isin(Spans(trace).name[ops.at], [i for i, name in names_of(trace, ("op",)) if name == _ZERO])
    edges = np.flatnonzero(np.diff(np.concatenate(([0], zero.astype(np.int8), [0]))))
    first, last = edges[::2], edges[1::2] - 1
    long = last - first + 1 >= _LEAST_ZEROED
    return Intervals.union_of(ops.ts[first[long]], ops.end[last[long]])
