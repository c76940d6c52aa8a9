"""Attention that the host's processor computes in steps, with all of its scores in memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.signals.host.own_operators import own_operators
from stepscope.signals.shared.ran_on import own_times
from stepscope.signals.shared.tensor_shapes import tensors
from stepscope.signals.signal import Signals, signal

_MULTIPLYING: Final = ("aten::bmm", "aten::baddbmm")
_SOFTMAX: Final = "aten::_softmax"
#: What else is done with scores and their gradients, one number after another.
_BESIDE: Final = (
    *("aten::div", "aten::div_", "aten::mul", "aten::mul_", "aten::add", "aten::add_", "aten::sub", "aten::where"),
    *("aten::masked_fill", "aten::masked_fill_", "aten::native_dropout", "aten::bernoulli_", "aten::copy_"),
    *("aten::_softmax_backward_data", "aten::native_dropout_backward"),
)
#: So many of these may lie between a multiplication and the softmax.
_BETWEEN: Final = 6
#: Rows and columns of scores: one operator takes a quarter of the time there, and may take more where there are fewer.
_LEAST: Final = 256

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class PlainAttention:
    """What it takes.

    Attributes:
        own_ns: Own time of the operators that make scores or work on them.
        of_ns: Own time of all operators.
        rows: Of the largest scores.
        columns: Of the same.
    """

    own_ns: int
    of_ns: int
    rows: int = 0
    columns: int = 0


@signal()
def plain_attention(s: Signals) -> PlainAttention:
    """Softmax of 256 columns and rows or more between two multiplications by the shapes, and what works on scores."""
    s(own_operators)
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    ops = np.flatnonzero(spans.of("op") & on_host(s.trace, spans.track))
    inputs, own = inputs_at(s.trace, ops), own_times(spans)[ops]
    if not (inputs >= 0).any():
        raise MissingInputError.of("shapes")
    wanted = [one for one, name in names.items() if name in (*_MULTIPLYING, _SOFTMAX, *_BESIDE)]
    mine = np.flatnonzero(np.isin(spans.name[ops], wanted) & (inputs >= 0))
    mine = mine[np.lexsort((spans.ts[ops[mine]], spans.track[ops[mine]]))]
    texts = s.trace.once(input_texts)
    shapes = {row: tensors(texts[row]["shapes"]) for row in np.unique(inputs[mine]).tolist()}
    calls = [
        (names[int(spans.name[ops[at]])], shapes[int(inputs[at])], int(spans.track[ops[at]])) for at in mine.tolist()
    ]
    scores = {
        scored for at, (name, given, _) in enumerate(calls)
        if name == _SOFTMAX and (scored := _scores(given)) and _multiplied(calls, at, scored)
    }  # fmt: skip
    took = sum(
        int(own[at])
        for at, (name, given, _) in zip(mine.tolist(), calls, strict=True)
        if _works_on(name, given, scores)
    )
    _, rows, columns = max(scores, default=(0, 0, 0))
    return PlainAttention(took, max(int(own.sum()), 1), rows, columns)


def _scores(given: Shapes) -> Shape | None:
    """Numbers, rows and columns of the scores that a softmax takes; None where they are too few for that."""
    if not given or len(given[0]) < 3 or min(given[0][-2:]) < _LEAST:
        return None
    return prod(given[0]), given[0][-2], given[0][-1]


def _made(name: str, given: Shapes) -> Shape | None:
    """Numbers, rows and columns of what a multiplication makes; None for other operators."""
    factors = [one for one in given if len(one) == 3][-2:]
    if name not in _MULTIPLYING or len(factors) < 2:
        return None
    (batch, rows, _), (_, _, columns) = factors
    return batch * rows * columns, rows, columns


def _multiplied(calls: list[tuple[str, Shapes, int]], at: int, scored: Shape) -> bool:
    """Whether a multiplication makes these scores before their softmax, and one takes them after it."""
    thread = calls[at][2]
    before = calls[max(at - _BETWEEN - 1, 0) : at]
    after = calls[at + 1 : at + _BETWEEN + 2]
    made = any(track == thread and _made(name, given) == scored for name, given, track in before)
    taken = any(
        track == thread and name in _MULTIPLYING and any(_is(one, scored) for one in given)
        for name, given, track in after
    )
    return made and taken


def _works_on(name: str, given: Shapes, scores: set[Shape]) -> bool:
    return any(_made(name, given) == scored or any(_is(one, scored) for one in given) for scored in scores)


def _is(shape: Shape, scored: Shape) -> bool:
    return len(shape) >= 3 and (prod(shape), *shape[-2:]) == scored
