"""Descriptions of call stacks for tables about memory."""

from __future__ import annotations

from typing import Any, Final

from stepscope.model.schema import Column, text
from stepscope.model.trace import Trace

#: What stands for allocations without a stack.
UNKNOWN: Final = "unknown"

#: Columns that say where memory was asked for.
STACK_COLUMNS: Final = (
    text("place", "Innermost frame of the user's code, else of a library, else an operator; `unknown` without stack."),
    text("module", "File of the innermost `forward`; null if there is none.", nullable=True),
    text("category", "What the memory is for, as recorded or as far as the stack tells; `unknown` without stack."),
    Column("frames", "string[]", "The stack, innermost frame first; null if unknown.", "", True),
)

_SQL: Final = """
SELECT s.stack, coalesce(s.place, 'unknown') AS place, s.module, s.category,
    list(f.text ORDER BY s.nth) AS frames
FROM (SELECT *, unnest(frames) AS frame, generate_subscripts(frames, 1) AS nth FROM call_stacks
    WHERE stack IN (SELECT unnest($stacks))) s
JOIN call_frames f USING (frame) GROUP BY ALL
"""


def described(trace: Trace, stacks: list[int]) -> dict[int, tuple[Any, ...]]:
    """The values of `STACK_COLUMNS` for each stack; -1 is an unknown one."""
    found = {
        row["stack"]: (row["place"], row["module"], row["category"], row["frames"])
        for row in trace.rows(_SQL, {"stacks": sorted({stack for stack in stacks if stack >= 0})})
    }
    nothing = (UNKNOWN, None, UNKNOWN, None)
    return {stack: found.get(stack, nothing) for stack in stacks}
