"""Tensors to which each step appends, and which are copied as a whole each time, on the host's processor."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, named, on_host
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.model.events.steps import Steps
from stepscope.signals.host.own_operators import own_operators
from stepscope.signals.shared.ran_on import own_times
from stepscope.signals.shared.tensor_shapes import tensors
from stepscope.signals.signal import Signals, signal

#: Steps in which it must have grown: a network that joins its features starts anew in each. Where no steps are known,
#: it must have had so many sizes, and never a smaller one again: no network has as many in a row.
_STEPS: Final = 4
_SIZES: Final = 100

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Growing:
    """What such tensors take.

    Attributes:
        own_ns: Own time of the calls that append.
        of_ns: Own time of all operators, in steps where these are known.
        first: Their size at first, along the dimension in which they grow.
        last: Their size at last.
    """

    own_ns: int
    of_ns: int
    first: int
    last: int


@signal()
def growing(s: Signals) -> Growing:
    """Calls of `aten::cat` on what such calls made in a step before, and made larger in every step, with shapes."""
    s(own_operators)
    spans, steps = Spans(s.trace), bool(Steps.of(s.trace).found.any())
    chosen = spans.of("op") & on_host(s.trace, spans.track)
    ops = np.flatnonzero(chosen & (spans.step >= 0) if steps else chosen)
    inputs, own = inputs_at(s.trace, ops), own_times(spans)[ops]
    if not (inputs >= 0).any():
        raise MissingInputError.of("shapes")
    cats = np.flatnonzero(named(s.trace, {"aten::cat"}.__contains__)[ops] & (inputs >= 0))
    cats = cats[np.argsort(spans.ts[ops[cats]], kind="stable")]
    texts = s.trace.once(input_texts)
    joined = {row: _joined(texts[row]["shapes"]) for row in np.unique(inputs[cats]).tolist()}
    made: dict[Shape, int] = {}
    took, sizes = 0, dict[int, int]()
    for call, at in enumerate(cats.tolist()):
        step, found = int(spans.step[ops[at]]) if steps else call, joined[int(inputs[at])]
        if found is None:
            continue
        first, whole, size = found
        # Of the same step it is another layer's, or a list that is joined bit by bit.
        if made.get(first, step) < step:
            took += int(own[at])
            sizes[step] = max(sizes.get(step, 0), size)
        made.setdefault(whole, step)
    grown = [sizes[step] for step in sorted(sizes)]
    if len(set(grown)) < (_STEPS if steps else _SIZES) or any(later < earlier for earlier, later in pairwise(grown)):
        return Growing(0, max(int(own.sum()), 1), 0, 0)
    return Growing(took, max(int(own.sum()), 1), grown[0], grown[-1])


def _joined(text: str) -> tuple[Shape, Shape, int] | None:
    """Shapes of the first tensor of a list and of all joined, and the joined size; None where they can't be told."""
    shapes = tensors(text)
    if len(shapes) < 2 or len({len(one) for one in shapes}) > 1:
        return None
    first = shapes[0]
    apart = [at for at in range(len(first)) if any(one[at] != first[at] for one in shapes)]
    if len(apart) != 1:
        return None
    [at] = apart
    size = sum(one[at] for one in shapes)
    return first, (*first[:at], size, *first[at + 1 :]), size
