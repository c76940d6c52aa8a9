"""Which events are directly around some others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Spans


def hold(spans: Spans, events: NDArray[Any], inner: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each of m events is the parent of any of some others, bool[m].

    A table of bytes by id serves, a quarter of one of positions, which `rows` and `around` of `Spans` need.

    Args:
        spans: The events of the trace.
        events: Positions of events.
        inner: Ids of the others, of which the trace may lack some.
    """
    ids, parents = spans.id, spans.parent
    known = np.zeros(max(int(ids.max(initial=-1)), int(parents.max(initial=-1))) + 1, np.bool_)
    known[inner[(inner >= 0) & (inner < known.size)]] = True
    around = parents[known[ids]]
    known[:] = False
    known[around[around >= 0]] = True
    held: NDArray[np.bool_] = known[ids[events]]
    return held
