"""Memory that compiled graphs plan for their operators, before they run."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, flag, fraction, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

STATIC_MEMORY: Final = TableSchema(
    "static_memory",
    "One row per allocation that a compiled graph plans for an operator (Ascend's `static_op_mem.csv`), the "
    "largest first, graph by graph. Nodes of a graph stand for time.",
    (
        RANK,
        text("graph", "Graph, and after a slash its part, where it has several."),
        text("name", "Operator."),
        size("bytes", "Size."),
        Column("first_node", "int64", "Node at which it is taken; null if not told.", "", True),
        Column("last_node", "int64", "Node at which it is given back; null if at the graph's end.", "", True),
        flag("at_peak", "Whether it is held when the graph holds most."),
        size("peak_bytes", "What the graph holds then."),
        fraction("share", "Of that, for what is held then; else 0."),
    ),
)
_SQL: Final = "SELECT subject, value FROM recorded WHERE source = 'static_memory' ORDER BY value DESC, subject"
_WORDS: Final = 5

#: Graph, operator, bytes, first and last node.
_Allocation = tuple[str, str, int, int | None, int | None]


def static_memory(trace: Trace) -> Table:
    """List what each graph plans, and what is held at its peak.

    Raises:
        MissingInputError: The recording has no such plan.
    """
    graphs: dict[str, list[_Allocation]] = defaultdict(list)
    for row in trace.rows(_SQL):
        words = row["subject"].split("|", _WORDS - 1)
        if len(words) == _WORDS:
            graph, part, first, last, name = words
            called = graph if part in ("", "0", "N/A") else f"{graph}/{part}"
            graphs[called].append((called, name, round(row["value"]), _node(first), _node(last)))
    if not graphs:
        raise MissingInputError.of("static_graphs")
    rows: list[tuple[Any, ...]] = []
    for allocations in graphs.values():
        peak, at = _peak(allocations)
        for called, name, taken, first, last in allocations:
            held = _is_held(first, last, at)
            share = taken / peak if held and peak else 0.0
            rows.append((trace.ranks[0], called, name, taken, first, last, held, peak, share))
    rows.sort(key=lambda one: (-one[7], one[1], -one[3], one[2]))
    return Table.from_rows(STATIC_MEMORY, rows)


def _node(told: str) -> int | None:
    return int(told) if told.isdigit() else None


def _is_held(first: int | None, last: int | None, at: int) -> bool:
    return (first or 0) <= at and (last is None or at < max(last, (first or 0) + 1))


def _peak(allocations: list[_Allocation]) -> tuple[int, int]:
    """Most bytes that are held at a time, and the first node at which they are: one at which memory is taken."""
    changes: dict[int, int] = defaultdict(int)
    for _, _, taken, first, last in allocations:
        changes[first or 0] += taken
        if last is not None:
            changes[max(last, (first or 0) + 1)] -= taken
    most, at, held = 0, 0, 0
    for node in sorted(changes):
        held += changes[node]
        if held > most:
            most, at = held, node
    return most, at


ANALYSES = (Analysis(STATIC_MEMORY, static_memory),)
