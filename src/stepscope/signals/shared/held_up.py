"""Calls of operators that take far longer than the same ones do otherwise: most likely they lost the processor."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Spans
from stepscope.model.events.op_inputs import inputs_at
from stepscope.model.trace import Trace

#: Of so many calls of one operator half show what it takes by itself.
_CALLS: Final = 10
#: A call that takes so many times as long did not take that for itself.
_TIMES: Final = 5


def held_up(trace: Trace, ops: NDArray[Any], own: NDArray[np.int64], short: int) -> tuple[int, bool]:
    """Own time of the calls that are long though others of the same operator, on the same inputs, are short.

    Args:
        trace: The trace of one rank.
        ops: Positions in `Spans` of operators.
        own: int64[n], their own times.
        short: What a call takes that is short.

    Returns:
        The time, ns; and whether inputs are recorded of most of those calls, so that it is not more data that they
        take it for.
    """
    inputs = inputs_at(trace, ops)
    order = np.lexsort((own, inputs, Spans(trace).name[ops]))
    name, inputs, own = Spans(trace).name[ops[order]], inputs[order], own[order]
    first = np.flatnonzero(np.append(True, (np.diff(name) != 0) | (np.diff(inputs) != 0)))[: order.size]
    count = np.diff(np.append(first, order.size))
    usual = own[first + (count - 1) // 2]
    long = own >= np.repeat(np.maximum(_TIMES * usual, short), count)
    held = long & np.repeat((usual < short) & (count >= _CALLS), count)
    told = bool(2 * int(own[held & (inputs >= 0)].sum()) >= int(own[held].sum()))
    return int(own[held].sum()), told
