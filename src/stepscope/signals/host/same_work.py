"""Whether steps that last longer call the same operators as the others."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Ids, Spans, on_host
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace

#: What is the same: operators and the shapes of their inputs, or operators whose shapes are not recorded.
Same = Literal["", "shapes", "operators"]

#: Bounds of steps that are found from repeated work may be off by a call or two.
_APART: Final = 0.02
#: So many of the other steps are looked at, the nearest ones.
_OTHERS: Final = 8


def same_work(trace: Trace, slow: Ids, usual: Ids) -> Same:
    """Whether each slow step calls the operators of a usual one, as often and on inputs of the same shapes."""
    spans, steps = Spans(trace), Steps.of(trace)
    ops = np.flatnonzero(spans.of("op") & on_host(trace, spans.track))
    ops = ops[np.argsort(spans.ts[ops], kind="stable")]
    # Numbers among the inputs, such as a learning rate, may differ from step to step.
    codes = {row: hash(text["shapes"]) for row, text in trace.once(input_texts).items()}
    rows, index = np.unique(inputs_at(trace, ops), return_inverse=True)
    inputs = np.array([codes.get(row, -1) for row in rows.tolist()], np.int64)[index.ravel()]
    starts = spans.ts[ops]

    def calls(step: int) -> Counter[tuple[int, int]]:
        first, last = np.searchsorted(starts, (steps.start[step], steps.end[step]))
        return Counter(zip(spans.name[ops[first:last]].tolist(), inputs[first:last].tolist(), strict=True))

    for one in slow.tolist():
        mine = calls(one)
        near: NDArray[np.int64] = usual[np.argsort(np.abs(usual - one), kind="stable")[:_OTHERS]]
        if not mine or not any(_alike(mine, calls(other)) for other in near.tolist()):
            return ""
    return "shapes" if (rows >= 0).any() else "operators"


def _alike(one: Counter[tuple[int, int]], other: Counter[tuple[int, int]]) -> bool:
    return ((one - other) + (other - one)).total() <= _APART * max(one.total(), other.total())
