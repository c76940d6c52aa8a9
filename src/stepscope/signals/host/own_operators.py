"""Which operators take the time of a program that no device is seen of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, named, names_by_id, on_host
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace
from stepscope.signals.host.compiling import compiling_events
from stepscope.signals.host.one_time import loading_intervals
from stepscope.signals.shared.held_up import held_up
from stepscope.signals.shared.host_collectives import holding
from stepscope.signals.shared.job import span_ns
from stepscope.signals.shared.ran_on import own_times, ran_on
from stepscope.signals.signal import Signals, signal

#: Inputs of an operator, as recorded.
_Text = dict[str, str]
#: Operators that only hold others take next to nothing by themselves.
_NAMED: Final = 3
#: And no part of the time is told that is less than this of it.
_LEAST: Final = 0.005
#: What copies tensors, to convert them to another type or to lay them out anew.
_COPIES: Final = re.compile(r"^aten::(copy_|_copy_from|clone|contiguous|_to_copy)$")
#: What adds rows up where an index says, as gradients of indexing do.
_ADDING: Final = re.compile(r"^aten::(index_add_?|scatter_add_?|scatter_reduce_?|_index_put_impl_|index_put_)$")
#: Nodes of the autograd engine that run a `backward` in Python; what a compiler made runs in one, too.
_WRITTEN: Final = re.compile(r"^(?!Compiled|DDP)[A-Za-z]\w*Backward$")
#: What computes on 8 or 4 bits, and what takes tensors of 16: its numbers are narrow already.
_QUANTIZED: Final = re.compile(
    r"^(_?quantized|onednn)::q?(linear|conv|add|mul|matmul|batch)|_(int8|int4)pack_mm|^aten::_int_mm"
)
_HALF: Final = re.compile(r"c10::(BFloat16|Half)|bfloat16|float16")
_DOUBLE: Final = re.compile(r'"double"|complex<double>')
#: A call that takes less does so whatever it computes: PyTorch needs some microseconds to call any operator.
SHORT_NS: Final = 20_000
#: In a longer gap between two operators the program does something else than to call the next one.
GAP_NS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class OwnOperators:
    """Operators on the host's threads, in a recording without a device.

    Attributes:
        recorded_ns: From the first event to the end of the last; where steps are known, the time of all typical ones.
        steps: How many steps that are; 0 where it is no time of steps. What follows is of the same time.
        running_ns: Time in which any of them runs.
        own_ns: Their own times, of all threads together.
        foremost: Those with the most time by themselves, with that time, ns.
        number: How many calls of these there are.
        short_ns: Own time of the calls that take less than `SHORT_NS`.
        events: int64[n], calls of the foremost one, the longest first.
        copied_ns: Own time of those that copy tensors.
        double_ns: Own time of those that take numbers of double precision.
        between_ns: Time in gaps between them that are shorter than `GAP_NS`, without waits for batches.
        calls: How many calls of operators there are that no other operator makes.
        adding_ns: Own time of those that add up rows by their index.
        written_ns: Own time of backward passes that the program wrote in Python.
        quantized: Whether any computes on numbers of 8 or 4 bits.
        half: Whether those that take tensors of 16 bits have half of the own time or more.
        held_ns: Own time of calls that are long though others of the same operator are short.
        alike: Whether it is known that the others had the same inputs.
        traced: Whether Python's functions are recorded, which makes such gaps longer.
        sure: Whether it is known that the processor computes them; else a device might, which nothing shows.
    """

    recorded_ns: int
    steps: int
    running_ns: int
    own_ns: int
    foremost: tuple[tuple[str, int], ...]
    number: int
    short_ns: int
    events: NDArray[np.int64]
    sure: bool
    copied_ns: int = 0
    double_ns: int = 0
    between_ns: int = 0
    calls: int = 0
    traced: bool = False
    adding_ns: int = 0
    written_ns: int = 0
    quantized: bool = False
    half: bool = False
    held_ns: int = 0
    alike: bool = False

    @property
    def threads(self) -> float:
        """How many threads run operators at a time, where any does."""
        return self.own_ns / max(self.running_ns, 1)


@signal()
def own_operators(s: Signals) -> OwnOperators:
    """Operators with the most time of their own, where no device is seen, and none is named that could be meant."""
    where = s(ran_on)
    if where.where not in ("cpu", "unknown") or where.listed:
        raise MissingInputError("work was given to a device, or the recording names one")
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    steps = Steps.of(s.trace)
    inner = steps.typical & steps.found if (steps.typical & steps.found).any() else steps.whole & steps.found
    window = Intervals.union_of(steps.ts[inner], steps.stop[inner])
    chosen = spans.of("op") & on_host(s.trace, spans.track) & ~np.isin(spans.name, s(holding))
    if window.total:
        chosen &= window.at(spans.ts)
    compiling = _compiling(s, spans)
    chosen &= ~compiling.at(spans.ts)
    ops = np.flatnonzero(chosen)
    if not ops.size:
        raise MissingInputError.of("operators")
    own, name = own_times(spans)[ops], spans.name[ops]
    totals = np.bincount(name, own)
    order = np.argsort(-totals, kind="stable")[:_NAMED]
    first = ops[name == order[0]]
    ts = spans.ts[ops]
    copied = named(s.trace, _COPIES.search)[ops]
    running = Intervals.union_of(ts, ts + np.maximum(spans.dur[ops], 0)) - compiling
    if window.total:
        running &= window
    outer = spans.around[ops]
    held, alike = held_up(s.trace, ops, own, SHORT_NS)
    outermost = ~((outer >= 0) & spans.of("op")[outer])
    return OwnOperators(
        window.total or s(span_ns), int(np.count_nonzero(inner)) if window.total else 0, running.total, int(own.sum()),
        tuple((names[int(one)], int(totals[one])) for one in order.tolist() if totals[one] > _LEAST * own.sum()),
        int(np.isin(name, order[totals[order] > _LEAST * own.sum()]).sum()), int(own[own < SHORT_NS].sum()),
        spans.id[first[np.argsort(-spans.dur[first], kind="stable")]].astype(np.int64),
        where.where == "cpu" and where.sure,
        int(own[copied].sum()), _taking(s.trace, ops[~copied], own[~copied], _takes_double),
        _short(running, loading_intervals(s) | compiling), int(np.count_nonzero(outermost)),
        bool(spans.of("python").any()), int(own[named(s.trace, _ADDING.search)[ops]].sum()),
        int(own[named(s.trace, _WRITTEN.search)[ops]].sum()),
        bool(named(s.trace, _QUANTIZED.search)[ops].any()),
        bool(2 * _taking(s.trace, ops, own, _takes_half) >= own.sum() > 0), held, alike,
    )  # fmt: skip


def _short(running: Intervals, other: Intervals) -> int:
    """Time in short gaps between such intervals, in which the program does nothing of these others."""
    gaps = Intervals(running.ends[:-1], running.starts[1:])
    short = gaps.ends - gaps.starts < GAP_NS
    return (Intervals(gaps.starts[short], gaps.ends[short]) - other).total


def _taking(trace: Trace, ops: NDArray[np.int64], own: NDArray[np.int64], wanted: Callable[[_Text], bool]) -> int:
    """Own time of the operators whose inputs, as texts, are wanted."""
    texts, rows = trace.once(input_texts), inputs_at(trace, ops)
    return int(own[np.isin(rows, [row for row, text in texts.items() if wanted(text)])].sum())


def _takes_half(text: _Text) -> bool:
    """Whether there is a tensor of 16 bits."""
    return bool(_HALF.search(text["dtypes"]))


def _takes_double(text: _Text) -> bool:
    """Whether there is a tensor of double precision; a number in a formula is none."""
    if not _DOUBLE.search(text["dtypes"]):
        return False
    try:
        types, shapes = json.loads(text["dtypes"]), json.loads(text["shapes"] or "[]")
    except ValueError:
        return False
    return any(_DOUBLE.search(f'"{one}"') and shape for one, shape in zip(types, shapes, strict=False))


def _compiling(s: Signals, spans: Spans) -> Intervals:
    """When code is compiled: what runs then is no operator of the model, whatever it is recorded as."""
    at = s(compiling_events)
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])
