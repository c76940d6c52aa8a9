"""Reports of some steps or ranks only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from stepscope.model.errors import UserError
from stepscope.model.table import Table
from stepscope.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Selection:
    """What a report is limited to, as asked for; empty for no limit."""

    steps: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    tables: tuple[str, ...] = ()


def chosen_ranks(trace: Trace, ranks: Sequence[int]) -> tuple[int, ...]:
    """The ranks asked for, or all.

    Raises:
        UserError: The trace does not have one of them.
    """
    for rank in ranks:
        if rank not in trace.ranks:
            raise UserError(f"the input has no rank {rank}", hint=f"it has {_listed(trace.ranks)}")
    return tuple(sorted(set(ranks))) or trace.ranks


def steps_of_rank(trace: Trace, ranks: Sequence[int], wanted: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Indices of the steps asked for, by rank: by recorded number, or by index where no step has a number.

    Raises:
        UserError: No rank has one of the steps.
    """
    rows = trace.rows("SELECT rank, step, number FROM steps ORDER BY ALL")
    numbered = any(row["number"] is not None for row in rows)
    known: dict[int, dict[int, int]] = {rank: {} for rank in ranks}
    for row in rows:
        name = row["number"] if numbered else row["step"]
        if row["rank"] in known and name is not None:
            known[row["rank"]][name] = row["step"]
    everywhere = sorted({name for names in known.values() for name in names})
    for step in wanted:
        if step not in everywhere:
            raise UserError(f"the input has no step {step}", hint=f"it has {_listed(everywhere)}")
    return {rank: tuple(names[step] for step in wanted if step in names) for rank, names in known.items()}


def rows_of_steps(table: Table, steps: Sequence[int], numbers: Sequence[int]) -> Table:
    """The rows of a table whose `step` is among `steps`; where it is a text, as recorded, among `numbers`."""
    column = table.arrow["step"]
    wanted = pa.array(map(str, numbers)) if pa.types.is_string(column.type) else pa.array(steps, pa.int32())
    return Table(table.schema, table.arrow.filter(pc.is_in(column, value_set=wanted)))


def _listed(numbers: Sequence[int]) -> str:
    if not numbers:
        return "none"
    contiguous = len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1
    shown = f"{numbers[0]} to {numbers[-1]}" if contiguous else ", ".join(map(str, numbers[:12]))
    return shown + ("" if contiguous or len(numbers) <= 12 else f" and {len(numbers) - 12} more")
