"""How much a typical step reads, tokens or images, by the shapes of the operators that see them first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

from stepscope.analyses.registry import Analysis
from stepscope.model.events.steps import Steps
from stepscope.model.schema import Column, TableSchema, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

THROUGHPUT: Final = TableSchema(
    "throughput",
    "What a typical step of a rank reads, one row; none where shapes do not tell it. Servers have table `serving`.",
    (
        RANK,
        text(
            "unit",
            "tokens (indices into the largest vocabulary) or images (of a first convolution; frames of a video).",
        ),
        text("shape", "Shape of what one call reads, for example `16 x 559`; that of most calls."),
        Column("per_step", "float64", "Their number in a typical step, on average.", "count"),
    ),
)
#: Smaller tables of an embedding are positions and kinds of tokens, not a vocabulary.
_VOCABULARY: Final = 5_000
#: A first convolution sees colours, in images of at least so many pixels a side.
_COLOURS: Final = 4
_SIDE: Final = 16
#: What only models of sequences call.
_SEQUENCES: Final = re.compile(r"scaled_dot_product|flash|softmax|attention")
_CALLS_SQL: Final = """
SELECT n.name, s.track, i.shapes
FROM op_inputs i JOIN spans s ON s.id = i.event JOIN names n USING (name_id) JOIN steps t ON t.step = s.step
WHERE t.typical AND i.shapes IS NOT NULL AND n.name IN ('aten::embedding', 'aten::conv2d')
ORDER BY s.ts, s.id
"""
_NAMES_SQL: Final = "SELECT DISTINCT name FROM names"


def throughput(trace: Trace) -> Table:
    """Count what the typical steps of a rank read; no row where it is not known."""
    steps = Steps.of(trace)
    number = int((steps.typical & steps.found).sum())
    [rank] = trace.ranks
    read = _read(trace) if number else None
    if read is None:
        return Table.from_rows(THROUGHPUT, [])
    unit, shapes = read
    usual = max(sorted(set(shapes)), key=shapes.count)
    shape = " x ".join(f"{size:,}" for size in usual)
    read_in_all = sum(prod(one) if unit == "tokens" else one[0] for one in shapes)
    return Table.from_rows(THROUGHPUT, [(rank, unit, shape, read_in_all / number)])


def _read(trace: Trace) -> tuple[str, list[tuple[int, ...]]] | None:
    """The unit, and the shape of what each first operator reads."""
    rows = [(row["name"], row["track"], _tensors(row["shapes"])) for row in trace.rows(_CALLS_SQL)]
    # What is recomputed is called from the thread of the backward pass.
    rows = [row for row in rows if row[1] == rows[0][1] and len(row[2]) >= 2]
    lookups = [shapes for name, _, shapes in rows if name == "aten::embedding" and len(shapes[0]) == 2]
    largest = max((weight[0] for weight, *_ in lookups), default=0)
    if largest >= _VOCABULARY and any(_SEQUENCES.search(row["name"]) for row in trace.rows(_NAMES_SQL)):
        return "tokens", [indices for weight, indices, *_ in lookups if weight[0] == largest and indices]
    images = [shapes[0] for name, _, shapes in rows if name == "aten::conv2d" and _is_image(shapes[0])]
    return ("images", images) if images else None


def _is_image(shape: Sequence[int]) -> bool:
    return len(shape) == 4 and shape[1] <= _COLOURS and min(shape[2:]) >= _SIDE


def _tensors(shapes: str) -> list[tuple[int, ...]]:
    """The shapes of the operator's inputs that are tensors, in order; none if they can't be read."""
    try:
        listed = json.loads(shapes)
    except ValueError:
        return []
    return [tuple(one) for one in listed if _is_shape(one)] if isinstance(listed, list) else []


def _is_shape(one: object) -> bool:
    return isinstance(one, Iterable) and not isinstance(one, str) and bool(one) and all(isinstance(d, int) for d in one)


ANALYSES = (Analysis(THROUGHPUT, throughput),)
