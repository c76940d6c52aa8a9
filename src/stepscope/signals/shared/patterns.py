"""Sequences of operations that one fused operator could do, recognised by their roles and sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Spans, named
from stepscope.model.trace import Trace
from stepscope.signals.shared.dimensions import dimensions
from stepscope.signals.shared.operations import Ids, Operations, operations
from stepscope.signals.shared.roles import OTHER, POINTWISE
from stepscope.signals.signal import Signals, signal

_POINT: Final = f"[{POINTWISE}]"
#: Scaling, masking, casting and dropping out between the GEMM that makes scores and the one that uses them.
_BETWEEN: Final = "[cmdawfDpn]"
#: A softmax, or maximum, difference, exponential, sum and quotient.
_SOFTMAX: Final = r"(?:S|(?:Xc?)?a?E[cf]?Uc?d)"
#: A pointwise sequence counts from this length: the remedy for two is not worth its trouble.
_LEAST_RUN: Final = 3
#: More of the same one after another, or of the same few, are done to a tensor each, and no formula.
_MOST_ALIKE: Final = 8
#: What is done to a tensor, as in an optimizer that is written out, has so many operations at most.
_LONGEST_UNIT: Final = 16
#: An activation that PyTorch has as one operator, split up: at least this many of them in a row.
_LEAST_REPEATED: Final = 4
#: Copies, fills and choices may be of unrelated tensors; these work on what the one before has made, and a run has two.
_CHAINED: Final = frozenset("amdEGWQnDtAB")
#: An optimizer's step: the annotation that PyTorch makes, or its Python functions.
_OPTIMIZER: Final = re.compile(r"Optimizer\.step#|torch/optim/\w+\.py\(\d+\): (?:step|_single_tensor|_multi_tensor)")
#: What formulas of activations are made of, and how long they are: that of GELU by its tangent has eight operations.
_ARITHMETIC: Final = frozenset("amdWtEn")
_ACTIVATION: Final = _ARITHMETIC | frozenset("cABf")
_LONGEST_ACTIVATION: Final = 12
#: A statistic of rows is at most this part of what it is of.
_STATISTIC: Final = 1 / 8


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """n stretches of consecutive operations on one queue.

    Attributes:
        first: int64[n], position of the first operation of each.
        last: int64[n], position of the last.
        anchor: int64[n], position of the one that decided: a softmax, a root, a concatenation, ...
    """

    first: Ids
    last: Ids
    anchor: Ids

    def where(self, kept: NDArray[np.bool_]) -> Ranges:
        """A selection of the ranges, by mask."""
        return Ranges(self.first[kept], self.last[kept], self.anchor[kept])


_Check = Callable[[Operations, Ranges], NDArray[np.bool_]]


def _gemms(w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Attention: a GEMM's result and the other's operand are as large as the softmax between them.

    Without recorded shapes, at least one GEMM must be batched, as those of heads are.
    """
    told = (w.size[found.anchor] > 0) & (w.shape[found.first] >= 0) & (w.shape[found.last] >= 0)
    scores = np.array([_result(w, position) for position in found.first.tolist()])
    fits = (scores == w.size[found.anchor]) & (w.size[found.last] >= w.size[found.anchor])
    kept: NDArray[np.bool_] = (told & fits) | (~told & _batched(w, found))
    return kept


def _batched(w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Whether one of the GEMMs at both ends is batched."""
    batched: NDArray[np.bool_] = np.maximum(w.depth[found.first], w.depth[found.last]) > 1
    return batched


def _result(w: Operations, position: int) -> float:
    """Number of elements of a GEMM's result; 0 if its shapes are unknown."""
    shape = int(w.shape[position])
    dims = dimensions(w.shapes[shape]) if shape >= 0 else None
    return 0.0 if dims is None else float(dims.batch * dims.m * dims.n)


def _backward_gemms(w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Backward attention: one of the GEMMs uses the scores, or computes their gradient."""
    fits = []
    for first, last, anchor in zip(found.first.tolist(), found.last.tolist(), found.anchor.tolist(), strict=True):
        gemms = [at for at in range(first, last + 1) if w.letters[at] == "P"]
        largest = max(max(w.size[at], _result(w, at)) for at in gemms)
        fits.append(largest >= w.size[anchor] > 0)
    told = (w.size[found.anchor] > 0) & (w.size[found.first] > 0)
    kept: NDArray[np.bool_] = (told & np.array(fits, np.bool_)) | (~told & _batched(w, found))
    return kept


def _statistic(w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Normalisation: the root has one element per row, what follows has whole rows."""
    root, whole = np.abs(w.size[found.anchor]), np.abs(w.size[found.last])
    kept: NDArray[np.bool_] = (root == 0) | (whole == 0) | (root <= whole * _STATISTIC)
    return kept


def _halves(w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Rotary embedding: the negated tensor is half of the one added at the end."""
    half, whole = w.size[found.anchor], w.size[found.last]
    told = (half > 0) & (whole > 0)
    # Threads take 1 to 4 elements each.
    kept: NDArray[np.bool_] = (told & (half * 2 == whole)) | (~told & (np.abs(half) <= 4 * np.abs(whole)))
    return kept


def _rows(w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Loss: the logarithm is of the softmax, or of one sum per row."""
    softmax, log = np.abs(w.size[found.anchor]), np.abs(w.size[found.last])
    kept: NDArray[np.bool_] = (softmax == 0) | (log == 0) | (log == softmax) | (log <= softmax * _STATISTIC)
    return kept


#: What a sequence is, in letters of `signals/shared/roles.py`; the group `x` is the anchor. In this order, and what one
#: has found the next one can't.
_GRAMMAR: Final[tuple[tuple[str, str, _Check], ...]] = (
    ("attention", f"P{_BETWEEN}{{0,8}}(?P<x>{_SOFTMAX}){_BETWEEN}{{0,5}}P", _gemms),
    ("attention_backward", f"PP?{_BETWEEN}{{0,5}}(?P<x>T){_BETWEEN}{{0,5}}PP?", _backward_gemms),
    ("norms", r"c?[Wm]Ma?(?P<x>Q)[mdc]{0,3}[md]|Mc?ac?WMa?(?P<y>Q)[mdac]{0,4}[mda]|M?a?v[ac]*(?P<z>Q)[mdac]{0,4}[mda]",
     _statistic),
    ("rotary", r"m?c?(?P<x>n)c?kc?mc?mc?a|mc?(?P<y>n)c?kc?mc?a", _halves),
    ("rotary", r"(?P<x>m)c?mc?ac?mc?mc?a", lambda w, r: w.alike(r.anchor, r.last)),
    ("losses", r"(?P<x>S)[acf]{0,2}G|(?:X?a)?(?P<y>E)UG", _rows),
)  # fmt: skip


@signal()
def sequences(s: Signals) -> Mapping[str, Ranges]:
    """Ranges that one fused operator could do: attention, its backward, norms, rotary, losses, activations, runs."""
    w = s(operations)
    text = _without_optimizer(s.trace, w)
    found: dict[str, Ranges] = {}
    for kind, pattern, check in _GRAMMAR:
        ranges = _matches(text, pattern)
        ranges = ranges.where(check(w, ranges)) if ranges.first.size else ranges
        before = found.get(kind)
        found[kind] = ranges if before is None else _both(before, ranges)
        text = _without(text, ranges)
    runs = _runs(w, text)
    words = [text[a : b + 1] for a, b in zip(runs.first.tolist(), runs.last.tolist(), strict=True)]
    # Steps repeat: a few dozen words are thousands of runs.
    is_activation = {word: _is_activation(word) for word in set(words)}
    is_chained = {
        word: len(word) >= _LEAST_RUN and _is_chained(word) and not _is_repeated(word) for word in is_activation
    }
    activation = np.array([is_activation[word] for word in words], np.bool_)
    chained = np.array([is_chained[word] for word in words], np.bool_)
    found["activations"] = runs.where(activation)
    found["runs"] = runs.where(chained & ~activation & ~_updates(text, runs))
    return MappingProxyType(found)


def members(found: Ranges) -> tuple[Ids, Ids]:
    """Positions of all operations of all sequences, and the index of the sequence of each."""
    lengths = found.last - found.first + 1
    of: Ids = np.repeat(np.arange(lengths.size), lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return found.first[of] + within, of


def _without_optimizer(trace: Trace, w: Operations) -> str:
    """The letters, with those of operators inside an optimizer's step replaced."""
    spans = Spans(trace)
    steps = np.flatnonzero(named(trace, _OPTIMIZER.search))
    if not steps.size:
        return w.letters
    steps = steps[np.argsort(spans.ts[steps], kind="stable")]
    inside = np.zeros(w.op.size, np.bool_)
    for track in np.unique(spans.track[steps]).tolist():
        mine, units = steps[spans.track[steps] == track], np.flatnonzero((w.thread == track) & (w.op >= 0))
        starts = spans.ts[mine]
        reach = np.maximum.accumulate(starts + np.maximum(spans.dur[mine], 0))
        at = np.searchsorted(starts, w.called[units], side="right") - 1
        inside[units] = (at >= 0) & (w.called[units] < reach[np.maximum(at, 0)])
    at = np.flatnonzero(inside)
    return _without(w.letters, Ranges(at, at, at))


def _is_chained(letters: str) -> bool:
    return sum(letter in _CHAINED for letter in letters) > 1


def _is_repeated(letters: str) -> bool:
    """Whether a run does the same few operations over and over."""
    units = range(2, min(_LONGEST_UNIT, (len(letters) - 1) // _MOST_ALIKE) + 1)
    return any(letters[unit:] == letters[:-unit] for unit in units)


def _matches(text: str, pattern: str) -> Ranges:
    rows = []
    for match in re.finditer(pattern, text):
        anchor = next(match.start(name) for name, value in match.groupdict().items() if value is not None)
        # Of a written-out softmax, the exponential is as large as the scores.
        exponential = match.string.find("E", anchor, match.end())
        rows.append((match.start(), match.end() - 1, anchor if exponential < 0 else exponential))
    first, last, anchor = np.array(rows, np.int64).reshape(-1, 3).T
    return Ranges(first, last, anchor)


def _both(a: Ranges, b: Ranges) -> Ranges:
    order = np.argsort(np.append(a.first, b.first), kind="stable")
    pairs = zip((a.first, a.last, a.anchor), (b.first, b.last, b.anchor), strict=True)
    return Ranges(*(np.append(x, y)[order] for x, y in pairs))


def _without(text: str, ranges: Ranges) -> str:
    letters = np.frombuffer(text.encode("ascii"), np.uint8).copy()
    change = np.zeros(letters.size + 1, np.int64)
    np.add.at(change, ranges.first, 1)
    np.add.at(change, ranges.last + 1, -1)
    letters[np.cumsum(change)[:-1] > 0] = ord(OTHER)
    return str(letters.tobytes(), "ascii")


def _runs(w: Operations, text: str) -> Ranges:
    """Two or more pointwise operations in a row on equally many elements."""
    letters = np.frombuffer(text.encode("ascii"), np.uint8)
    point = np.isin(letters, np.frombuffer(POINTWISE.encode("ascii"), np.uint8))
    at = np.arange(letters.size)
    joined = np.zeros(letters.size, np.bool_)
    joined[1:] = point[1:] & point[:-1] & w.alike(at[1:], at[:-1]) & (w.size[1:] != 0)
    starts = np.flatnonzero(~joined)
    last = np.append(starts[1:], letters.size) - 1
    changes = np.concatenate(([0], np.cumsum(letters[1:] != letters[:-1])))
    same = changes[last] == changes[starts]
    long = (last > starts) & point[starts] & ~(same & (last - starts >= _MOST_ALIKE))
    return Ranges(starts[long], last[long], starts[long])


def _is_activation(letters: str) -> bool:
    """Whether a run computes an activation that exists as one operator."""
    if len(letters) > _LONGEST_ACTIVATION or not _ACTIVATION.issuperset(letters):
        return False
    if "t" in letters or ("E" in letters and "a" in letters and "d" in letters):
        return True
    # With copies alone between them they are several, of a tensor each.
    several = not _ARITHMETIC.intersection(letters) and len(set(letters)) > 1
    return len(letters) >= _LEAST_REPEATED and ("A" in letters or "B" in letters) and not several


def _updates(text: str, runs: Ranges) -> NDArray[np.bool_]:
    """Whether runs lie beside parameter updates: they belong to an optimizer, which has other remedies."""
    padded = f"{OTHER}{text}{OTHER}"
    return np.array(
        [padded[a] == "o" or padded[b + 2] == "o" for a, b in zip(runs.first, runs.last, strict=True)], np.bool_
    )
