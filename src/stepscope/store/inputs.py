"""Storage of operators' inputs: distinct texts once (`input_texts`), and a row per call (`input_calls`).

A job repeats a few thousand distinct calls, so this takes about a hundredth of the space.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stepscope.model.schema import Column, TableSchema, ident
from stepscope.model.tables import OP_INPUTS

#: The columns of `op_inputs` that are texts.
TEXT_COLUMNS: Final = ("shapes", "dtypes", "strides", "values", "stack", "module")

_TEXTS: Final = Column("texts", "int32", "Row of `input_texts`; null if there is none.", "id", True)

INPUT_TEXTS: Final = TableSchema(
    "input_texts",
    "One row per combination of texts that operators were recorded with.",
    (
        replace(_TEXTS, description="Number of the combination.", nullable=False),
        *map(OP_INPUTS.__getitem__, TEXT_COLUMNS),
    ),
)

INPUT_CALLS: Final = TableSchema(
    "input_calls",
    "One row per operator whose inputs were recorded.",
    (ident("event", "The operator's event."), _TEXTS, OP_INPUTS["sequence"], OP_INPUTS["forward_thread"]),
)


def op_inputs_sql(calls: str = "input_calls", texts: str = "input_texts") -> str:
    """SQL for the rows of `op_inputs` without the rank, from the relations that hold them."""
    columns = ", ".join(f't."{name}"' for name in TEXT_COLUMNS)
    return f"SELECT c.event, {columns}, c.sequence, c.forward_thread FROM {calls} c LEFT JOIN {texts} t USING (texts)"
