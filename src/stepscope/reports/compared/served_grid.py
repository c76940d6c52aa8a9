"""Passes of two servers by phase and role of kernels, per token where both tell tokens."""

from __future__ import annotations

from typing import Final

from stepscope.comparison.result import Comparison
from stepscope.language import said
from stepscope.language.part_words import in_words
from stepscope.reports.blocks import Block, Grid, Heading
from stepscope.reports.compared.cells import headed, ratio_words, signed
from stepscope.reports.units import time_scale

#: Roles of less than this share of both sides' passes are not shown.
_LEAST: Final = 0.0005


def served_grids(comparison: Comparison) -> tuple[Block, ...]:
    """A grid per phase that both sides have."""
    if "served_roles" not in comparison.tables:
        return ()
    listed = comparison.table("served_roles").records()
    grids: list[Block] = []
    for phase in dict.fromkeys(row["phase"] for row in listed):
        rows = [row for row in listed if row["phase"] == phase]
        each = all(row["base_token_ns"] is not None and row["new_token_ns"] is not None for row in rows)
        names = ("base_token_ns", "new_token_ns") if each else ("base_ns", "new_ns")
        times = [(row["role"], *(row[name] for name in names)) for row in rows]
        base, new = (sum(one[i] for one in times) for i in (1, 2))
        one = time_scale([base, new])
        shown = [
            (in_words(role), one.write(round(old)), one.write(round(now)), signed(one.write(round(now - old))),
             ratio_words(round(old), round(now)))
            for role, old, now in [*times, ("all", base, new)] if max(old, now) >= _LEAST * max(base, new)
        ]  # fmt: skip
        headings = (
            Heading(said("{phase}, per token" if each else "{phase}, per pass", phase=in_words(phase)), number=False),
            Heading(headed(said("base"), one)), Heading(headed(said("new"), one)), Heading(headed(said("diff"), one)),
            Heading(said("ratio"), rank=2),
        )  # fmt: skip
        grids.append(Grid(headings, tuple(shown), table="served_roles"))
    return tuple(grids)
