"""The shape of a model as far as calls on its weights show it: whether two recordings ran one of the same size."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

from stepscope.language import said
from stepscope.model.trace import Trace

UNKNOWN: Final = said("unknown")
#: Operators on weights: which input is the weight, and how many dimensions it has. A tensor with more is no weight.
_WEIGHTS: Final = {
    "aten::linear": (1, 2), "aten::conv1d": (1, 3), "aten::conv2d": (1, 4), "aten::conv3d": (1, 5),
    "aten::embedding": (0, 2),
}  # fmt: skip
#: Which of these calls a host thread makes in the steps: those of the thread that makes the first of them, as what is
#: recomputed is called from the thread of the backward pass.
_CALLS_SQL: Final = """
WITH calls AS (
    SELECT n.name, s.track, s.ts, s.id, s.step, i.shapes
    FROM op_inputs i JOIN spans s ON s.id = i.event JOIN names n USING (name_id)
    WHERE i.shapes IS NOT NULL AND n.name IN (SELECT unnest($names)) AND s.step IN (SELECT unnest($steps))
)
SELECT name, shapes, step, count(*) AS number FROM calls
WHERE track = (SELECT track FROM calls ORDER BY ts, id LIMIT 1)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""


def model_shape(trace: Trace, steps: Sequence[int]) -> str:
    """How many calls on weights a step makes, and how large these are, in words; `unknown` where shapes do not tell.

    Sizes of batches and sequences do not matter. A weight that is used twice counts twice; what is not used in every
    step is an activation in a weight's place, whose size is that of the batch.
    """
    used: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for row in trace.rows(_CALLS_SQL, {"names": list(_WEIGHTS), "steps": list(steps)}):
        used[_weight(row["shapes"], *_WEIGHTS[row["name"]])][row["step"]] += row["number"]
    weights = {shape: sum(by.values()) for shape, by in used.items() if shape and len(by) == len(set(steps))}
    if not weights:
        return UNKNOWN
    calls = sum(weights.values()) / len(steps)
    largest = max(weights, key=lambda shape: (_size(shape), shape))
    elements = sum(_size(shape) * number for shape, number in weights.items()) / len(steps)
    size = " x ".join(f"{one:,}" for one in largest)
    return said(
        "{calls:,.4g} calls on weights of {millions:,.4g} M elements, the largest {size}",
        calls=calls, millions=elements / 1e6, size=size,
    )  # fmt: skip


def _weight(shapes: str, at: int, dimensions: int) -> tuple[int, ...]:
    """The shape of one input; empty if it can't be read, or has other dimensions."""
    try:
        listed: Any = json.loads(shapes)
        found = tuple(int(one) for one in listed[at])
    except (ValueError, TypeError, LookupError):
        return ()
    return found if len(found) == dimensions else ()


def _size(shape: tuple[int, ...]) -> int:
    elements = 1
    for one in shape:
        elements *= one
    return elements
