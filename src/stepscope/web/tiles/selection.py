"""A range of time on one rank: its own budget, kernels and operators."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.analyses.registry import analyses
from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.language import said
from stepscope.model.errors import MissingInputError, UserError
from stepscope.web.tiles.timeline import Timeline
from stepscope.web.tiles.track import SHARES

#: Tables of a range, and how many rows of each are sent.
TABLES: Final = ("kernels", "operators", "collectives", "copies", "api_calls")
_ROWS: Final = 200


def budget_of(timeline: Timeline, rank: int, lo: int, hi: int) -> dict[str, Any]:
    """What the devices of a rank did in [lo, hi) of the common axis, in ns that add up to the range.

    Returns:
        `devices`, each with its `label`, and `parts` of name and ns in the order of `SHARES`; the last, `not recorded`,
        is what lies outside the recording of the device.

    Raises:
        UserError: There is no such rank, or the range is empty.
    """
    _check(timeline, rank, lo, hi)
    shift = timeline.axis.shift[rank]
    starts, ends = np.array([lo - shift]), np.array([hi - shift])
    devices = []
    for index, track in enumerate(timeline.tracks):
        if track.rank == rank and track.form == "shares":
            found = timeline.shares(index).within(starts, ends)
            parts = [(SHARES[label], int(ns[0])) for label, ns in sorted(found.items())]
            rest = hi - lo - sum(ns for _, ns in parts)
            devices.append({"label": track.label, "parts": [*parts, ("not recorded", rest)] if rest else parts})
    return {"rank": rank, "from": lo, "to": hi, "devices": devices}


def table_of_range(timeline: Timeline, rank: int, lo: int, hi: int, name: str) -> dict[str, Any]:
    """One of `TABLES` about the events that touch [lo, hi) of the common axis; each counts whole.

    Raises:
        UserError: There is no such rank or table, or the range is empty.
        MissingInputError: The range has nothing that the table is made from.
    """
    _check(timeline, rank, lo, hi)
    if name not in TABLES:
        raise UserError(said("of a range there are tables {tables}, not {name!r}", tables=", ".join(TABLES), name=name))
    shift = timeline.axis.shift[rank]
    analysis = analyses()[name]
    with narrowed(timeline.ranks[rank].for_thread(), Filter(since=lo - shift, until=hi - shift)) as part:
        try:
            table = analysis.run(part)
        except MissingInputError:
            rows: list[list[Any]] = []
        else:
            rows = table.json_rows()
    return {
        "description": analysis.schema.description,
        "columns": analysis.schema.to_json(),
        "rows": rows[:_ROWS],
        "count": len(rows),
    }


def _check(timeline: Timeline, rank: int, lo: int, hi: int) -> None:
    if rank not in timeline.ranks:
        raise UserError(said("the recording has no rank {rank}", rank=rank))
    if hi <= lo:
        raise UserError("the range is empty: `to` must be greater than `from`")
