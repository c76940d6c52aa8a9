"""Sequences of operations for which torch_npu has one operator, beside those that every platform fuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.trace import Trace
from stepscope.signals.kernels.fusions import Fusion, longest_kept
from stepscope.signals.shared.job import platform, recorded_steps
from stepscope.signals.shared.operations import Operations, operations
from stepscope.signals.shared.patterns import Ranges, members, sequences
from stepscope.signals.shared.tensor_shapes import tensors
from stepscope.signals.signal import Signals, signal

_SILU: Final = re.compile(r"silu|swish", re.IGNORECASE)
_GELU: Final = re.compile(r"gelu", re.IGNORECASE)
_TOP_K: Final = re.compile(r"top_?k", re.IGNORECASE)
_NORM: Final = re.compile(r"rms_?norm", re.IGNORECASE)
#: Kernels that put a tensor's elements into another order, or what was a view of them into one stretch.
_MOVES: Final = re.compile(r"Transpose|TensorMove|AsStrided|ViewCopy")
#: Scores are scaled, masked and put through a softmax; casts lie in between. What is added may be any bias, and the
#: operator takes a mask.
_MASKED: Final = r"[md]c?wc?(?P<x>S)"
#: More experts than any router chooses among: tokens of a vocabulary, or classes.
_MOST_EXPERTS: Final = 512
_GATED: Final = r"(?P<x>A)m"
_ROUTED: Final = r"(?P<x>S)[cd]?#"
_ADDED: Final = r"(?P<x>a)#"
_BIASED: Final = r"(?P<x>P)a"
_TWICE: Final = r"(?P<x>c)c"

_Check = Callable[[Signals, Operations, Ranges], NDArray[np.bool_]]


@signal()
def masked_softmaxes(s: Signals) -> Fusion:
    """Scores that are scaled, masked and put through a softmax by an operation each, outside of attention."""
    return sequences_of(s, _MASKED, lambda _, w, r: w.alike(r.first, r.anchor))


@signal()
def silu_gates(s: Signals) -> Fusion:
    """SiLU of one half times the other half."""
    return sequences_of(s, _GATED, lambda s, w, r: named_at(s, w, r.anchor, _SILU) & w.alike(r.anchor, r.last))


@signal()
def gelu_gates(s: Signals) -> Fusion:
    """GELU of one half times the other half."""
    return sequences_of(s, _GATED, lambda s, w, r: named_at(s, w, r.anchor, _GELU) & w.alike(r.anchor, r.last))


@signal()
def routings(s: Signals) -> Fusion:
    """The softmax of a router, and the choice of the experts with the largest weights."""
    return sequences_of(s, _ROUTED, lambda s, w, r: named_at(s, w, r.last, _TOP_K) & _among_experts(s, w, r))


@signal()
def added_norms(s: Signals) -> Fusion:
    """A residual that is added, and the RMS normalisation of the sum."""
    return sequences_of(s, _ADDED, lambda s, w, r: named_at(s, w, r.last, _NORM) & w.alike(r.anchor, r.last))


@signal()
def added_biases(s: Signals) -> Fusion:
    """A GEMM, and the addition of a vector to each row of its result."""
    return sequences_of(s, _BIASED, lambda _, w, r: _adds_a_vector(w, r))


@signal()
def rearrangements(s: Signals) -> Fusion:
    """A tensor whose elements are put into another order twice, one after the other."""
    return sequences_of(
        s, _TWICE, lambda s, w, r: _moves(s, w, r.first) & _moves(s, w, r.last) & w.alike(r.first, r.last)
    )


def _moves(s: Signals, w: Operations, at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the kernels of operations only move elements: operators that copy do not tell it from a cast."""
    found, kernels = np.zeros(at.size, np.bool_), w.first[at] < w.first[at + 1]
    names, ids = s.trace.once(names_by_id), _kernel_names(s.trace, w.kernels[w.first[at[kernels]]])
    found[kernels] = [_MOVES.search(names[one]) is not None for one in ids.tolist()]
    return found


def sequences_of(s: Signals, pattern: str, check: _Check) -> Fusion:
    """The sequences of a pattern that nothing else fuses."""
    if s(platform) != "npu":
        raise MissingInputError("the devices of the recording have no such operators", hint="nothing is missing")
    w = s(operations)
    taken = np.zeros(len(w.letters), np.bool_)
    for kind, ranges in s(sequences).items():
        if kind != "runs":
            taken[members(ranges)[0]] = True
    rows = [(match.start(), match.end() - 1, match.start("x")) for match in re.finditer(pattern, w.letters)]
    first, last, anchor = np.array(rows, np.int64).reshape(-1, 3).T
    found = Ranges(first, last, anchor)
    found = found.where(~taken[first] & ~taken[last])
    return longest_kept(s, found.where(check(s, w, found)) if found.first.size else found)


def named_at(s: Signals, w: Operations, at: NDArray[np.int64], pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Whether the operator of each operation, or its kernel where that is not known, has such a name."""
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    ids = np.full(at.size, -1, np.int64)
    known = w.op[at] >= 0
    ids[known] = spans.name[spans.rows(w.op[at[known]])]
    kernels = w.first[at] < w.first[at + 1]
    bare = ~known & kernels
    ids[bare] = _kernel_names(s.trace, w.kernels[w.first[at[bare]]])
    return np.array([one >= 0 and pattern.search(names[one]) is not None for one in ids.tolist()], np.bool_)


def _kernel_names(trace: Trace, events: NDArray[np.int64]) -> NDArray[np.int64]:
    work = DeviceWork.of(trace)
    return work.name[work.rows(trace, events)].astype(np.int64)


def _among_experts(s: Signals, w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Whether a softmax is over few enough for experts; unless shapes tell, whether a step has several of them."""
    shapes = [tensors(w.shapes[one])[:1] if one >= 0 else () for one in w.shape[found.anchor].tolist()]
    several = found.first.size > s(recorded_steps)
    return np.array([one[0][-1] <= _MOST_EXPERTS if one and one[0] else several for one in shapes], np.bool_)


def _adds_a_vector(w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Whether what is added to the result of a GEMM has one dimension, by the recorded shapes."""
    shape = w.shape[found.last]
    return np.array([one >= 0 and _has_vector(w.shapes[one]) for one in shape.tolist()], np.bool_)


@lru_cache(maxsize=65_536)
def _has_vector(text: str) -> bool:
    dimensions = sorted(len(one) for one in tensors(text))
    return len(dimensions) == 2 and dimensions[0] == 1 < dimensions[1]
