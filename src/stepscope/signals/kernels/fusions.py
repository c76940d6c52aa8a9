"""Savings of fusing sequences of operations: which work goes away, and how long the rest takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.change import Change, Scaled
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.trace import Trace
from stepscope.signals.shared.host_cost import one_call
from stepscope.signals.shared.job import step_share
from stepscope.signals.shared.operations import Ids, Operations, operations
from stepscope.signals.shared.patterns import Ranges, members, sequences
from stepscope.signals.shared.roles import OTHER
from stepscope.signals.signal import Signals, signal

_MOST: Final = 20


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """n sequences of operations that one operator each could do.

    Attributes:
        count: n.
        before_ns: Time of all their operations.
        after_ns: What would remain of it.
        share: What would go away as a share of the recorded steps, if nothing else happened at that time.
        change: Kernels and operators that would go away or be shorter.
        events: Kernels of the longest sequences.
        ranges: Start and end of the three longest.
        letters: Roles of the longest one's operations.
        alike: Whether all of them have as many operations.
        operators: Names of its operators, in order; empty where none are known.
        confidence: Between 0 and 1.
        host_ns: Time of the host in calling them, as far as one call instead of all would shorten it.
        host_after_ns: What would remain of that.
    """

    count: int
    before_ns: int
    after_ns: int
    share: float
    change: Change
    events: Ids
    ranges: tuple[tuple[int, int], ...]
    letters: str
    alike: bool = True
    operators: tuple[str, ...] = ()
    confidence: float = 0.9
    host_ns: int = 0
    host_after_ns: int = 0

    @property
    def saved_ns(self) -> int:
        """Upper bound of the savings: time of device and host that would go away, ns."""
        return self.before_ns - self.after_ns + self.host_ns - self.host_after_ns


@signal()
def norms(s: Signals) -> Fusion:
    """Normalisations written out as separate operations."""
    return longest_kept(s, s(sequences)["norms"])


@signal()
def activations(s: Signals) -> Fusion:
    """Activation functions written out as separate operations."""
    return longest_kept(s, s(sequences)["activations"])


@signal()
def rotary(s: Signals) -> Fusion:
    """Rotary embeddings written out as separate operations."""
    return longest_kept(s, s(sequences)["rotary"])


@signal()
def losses(s: Signals) -> Fusion:
    """Cross entropies written out as separate operations."""
    return longest_kept(s, s(sequences)["losses"])


@signal()
def runs(s: Signals) -> Fusion:
    """Three or more pointwise operations in a row on equally many elements, outside the other sequences."""
    return longest_kept(s, s(sequences)["runs"])


def longest_kept(s: Signals, found: Ranges) -> Fusion:
    """Fuse each sequence into an operator that takes as long as its longest operation.

    That is an upper bound: the fused operator reads the sequence's inputs and writes its outputs only, and its longest
    operation touches at least as many bytes.
    """
    w = s(operations)
    units, of = members(found)
    longest = np.lexsort((units, -w.dur[units], of))
    kept = np.zeros(units.size, np.bool_)
    kept[longest[np.flatnonzero(np.diff(of[longest], prepend=-1))]] = True
    change = Change(device=removed(w, units[~kept]))
    return fusion(s, found, change + one_call(s, found), int(w.dur[units[kept]].sum()))


def fusion(s: Signals, found: Ranges, change: Change, after: int) -> Fusion:
    """Properties of sequences, given the change that fusing them makes."""
    w = s(operations)
    units, of = members(found)
    each = np.zeros(found.first.size, np.int64)
    np.add.at(each, of, w.dur[units])
    order = np.argsort(-each, kind="stable")[:_MOST]
    before = int(each.sum())
    ends = w.ts[found.last] + w.dur[found.last]
    chosen = units[np.isin(of, order[:3])]
    host, host_after = _on_host(s, change)
    return Fusion(
        count=found.first.size,
        before_ns=before,
        after_ns=after,
        share=step_share(s, before - after),
        change=change,
        events=w.kernels[w.within(chosen)][:_MOST],
        ranges=tuple((int(w.ts[found.first[i]]), int(ends[i])) for i in order[:3].tolist()),
        letters=w.letters[found.first[order[0]] : found.last[order[0]] + 1] if order.size else "",
        alike=len(set((found.last - found.first).tolist())) <= 1,
        operators=_names(s.trace, w, found, int(order[0])) if order.size else (),
        confidence=0.9 if (w.size[found.anchor] > 0).all() else 0.7,
        host_ns=host,
        host_after_ns=host_after,
    )


def _on_host(s: Signals, change: Change) -> tuple[int, int]:
    """Host time that a change multiplies, and what remains of it."""
    spans = Spans(s.trace)
    parts = [(int((one.ends - one.starts).sum()), one.factor) for one in change.time]
    for one in change.host:
        rows = spans.rows(np.asarray(one.events, np.int64))
        parts.append((int(np.maximum(spans.dur[rows[rows >= 0]], 0).sum()), one.factor))
    return sum(ns for ns, _ in parts), round(sum(ns * factor for ns, factor in parts))


def scaled(s: Signals, found: Ranges, factors: NDArray[np.float64]) -> Change:
    """Multiply the time of each sequence on its queue; the host calls one operator instead of all."""
    w = s(operations)
    units, of = members(found)
    steps = np.rint(factors * 1000) / 1000
    parts = tuple(
        Scaled(w.kernels[w.within(mine)], float(step))
        for step in np.unique(steps).tolist()
        if (mine := units[steps[of] == step]).size
    )
    return Change(device=parts) + one_call(s, found)


def removed(w: Operations, units: Ids) -> tuple[Scaled, ...]:
    """Kernels of operations that go away."""
    events = w.kernels[w.within(units)]
    return (Scaled(events, 0.0),) if events.size else ()


def _names(trace: Trace, w: Operations, found: Ranges, which: int) -> tuple[str, ...]:
    operators = w.op[found.first[which] : found.last[which] + 1]
    if (operators < 0).any():
        return ()
    spans, names = Spans(trace), trace.once(names_by_id)
    return tuple(names[int(spans.name[row])] if row >= 0 else OTHER for row in spans.rows(operators).tolist())
