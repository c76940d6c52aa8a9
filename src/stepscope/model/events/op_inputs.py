"""Recorded inputs of one rank's operators: shapes, types and strides."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Spans
from stepscope.model.trace import Trace

_TEXTS_SQL: Final = """
SELECT texts, coalesce(shapes, '') AS shapes, coalesce(dtypes, '') AS dtypes, coalesce(strides, '') AS strides
FROM input_texts
"""


def inputs_of(trace: Trace) -> NDArray[np.int32]:
    """Row of `input_texts` with the inputs of each event of `Spans`, int32[n]; -1 for none.

    Ask for it with `Trace.once`.
    """
    spans = Spans(trace)
    calls = trace.columns("SELECT event, coalesce(texts, -1)::INTEGER AS texts FROM input_calls", many=True)
    found = np.full(spans.id.size, -1, np.int32)
    at = spans.rows(calls["event"])
    found[at[at >= 0]] = calls["texts"][at >= 0]
    return found


def inputs_at(trace: Trace, at: NDArray[Any]) -> NDArray[np.int32]:
    """Rows of `input_texts` for events at these positions, int32[m]; -1 for none, and for position -1."""
    return np.where(at >= 0, trace.once(inputs_of)[at], np.int32(-1)) if at.size else np.zeros(0, np.int32)


def input_texts(trace: Trace) -> dict[int, dict[str, str]]:
    """The rows of `input_texts`: shapes, dtypes and strides as JSON, empty where not recorded.

    Ask for it with `Trace.once`.
    """
    return {row["texts"]: row for row in trace.rows(_TEXTS_SQL)}
