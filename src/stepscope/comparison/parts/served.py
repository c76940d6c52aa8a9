"""Passes of two servers by phase and by the role of their kernels, whatever engine and vendor each has."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.serving.serving_roles import serving_roles
from stepscope.comparison.side import ComparedSide, within
from stepscope.model.schema import Column, TableSchema, ns, text
from stepscope.model.table import Table

SERVED_ROLES: Final = TableSchema(
    "served_roles",
    "Device time of servers' passes by phase and role of kernels, per pass and per token, the largest difference per "
    "token first. base_ns and new_ns of a phase add up to its mean pass.",
    (
        text("phase", "As in `serving`."),
        text("role", "As in `serving_roles`."),
        ns("base_ns", "Per pass of the base; 0 where it has none."),
        ns("new_ns", "The same of the new one."),
        ns("diff_ns", "new_ns - base_ns.", signed=True),
        Column("base_token_ns", "float64", "Per token of the base; null where its ranges do not tell tokens.", "ns",
               True),
        Column("new_token_ns", "float64", "The same of the new one.", "ns", True),
        Column("token_ratio", "float64", "new_token_ns / base_token_ns; null where one is not known or 0.", "", True),
    ),
)  # fmt: skip
Sums = dict[tuple[str, str], tuple[int, float | None]]


def served_sums(side: ComparedSide) -> Sums:
    """Device time per pass and per token, by phase and role; empty for what is no server."""
    rows = within(side).once(serving_roles).records()
    return {(row["phase"], row["role"]): (row["pass_ns"], row["token_ns"]) for row in rows}


def served_table(base: Sums, new: Sums) -> Table:
    """Both sides beside each other, in the phases that both have."""
    phases = {phase for phase, _ in base} & {phase for phase, _ in new}
    told = [{phase for (phase, _), (_, each) in side.items() if each is not None} for side in (base, new)]
    rows: list[tuple[Any, ...]] = []
    for phase, role in sorted({*base, *new}):
        if phase not in phases:
            continue
        mine = []
        for side, known in zip((base, new), told, strict=True):
            spent, each = side.get((phase, role), (0, None))
            mine.append((spent, each if each is not None else 0.0 if phase in known else None))
        (old, old_each), (now, now_each) = mine
        ratio = now_each / old_each if old_each and now_each is not None else None
        rows.append((phase, role, old, now, now - old, old_each, now_each, ratio))
    rows.sort(key=lambda row: (row[0], -abs(_apart(row)), row[1]))
    return Table.from_rows(SERVED_ROLES, rows)


def _apart(row: tuple[Any, ...]) -> float:
    """Difference per token, else per pass."""
    return float(row[4]) if row[5] is None or row[6] is None else float(row[6] - row[5])
