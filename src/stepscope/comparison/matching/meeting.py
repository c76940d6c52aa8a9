"""Operators at which kernels of different platforms meet: the innermost one around a kernel that both sides call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.program import program_of
from stepscope.comparison.comparable import operators_of
from stepscope.comparison.parts.charged import ChargedWork
from stepscope.comparison.side import ComparedSide
from stepscope.model.events.columns import Rows, Spans, names_by_id

#: Platforms whose libraries have names of their own for what the same operators of a framework do.
_PLATFORMS: Final = frozenset({"cuda", "rocm", "npu", "xpu", "mtia"})


def met(
    sides: tuple[ComparedSide, ComparedSide], works: tuple[ChargedWork, ChargedWork], names: Mapping[str, str]
) -> tuple[ChargedWork, ChargedWork]:
    """The work of both sides, each activity below the innermost operator around it that the other side calls, too.

    Of one platform, and where an activity has no such operator, it stays below the one that launched it: what differs
    there is the program. Between platforms it is the libraries below the framework, such as `aclnnMatmul` within
    `aten::mm`.

    Args:
        sides: Base and new side.
        works: Their work.
        names: Names of the new side by those of the base.
    """
    platforms = {side.trace.once(program_of).platform for side in sides}
    if len(platforms) < 2 or not platforms <= _PLATFORMS:
        return works
    base, new = (operators_of(side) for side in sides)
    common = {name for name in base if names.get(name, name) in new}
    mapped = {names.get(name, name) for name in common}
    return _below(sides[0], works[0], common), _below(sides[1], works[1], mapped)


def _below(side: ComparedSide, work: ChargedWork, common: set[str]) -> ChargedWork:
    spans = Spans(side.trace)
    known = [name_id for name_id, name in side.trace.once(names_by_id).items() if name in common]
    meets = np.isin(spans.name, known) & spans.of("op")
    row = _climbed(spans.rows(work.work.op), meets, spans.of("module", "annotation"), spans.around)
    op = np.where(row >= 0, spans.id[row], work.work.op).astype(work.work.op.dtype)
    return replace(work, work=replace(work.work, op=op))


def _climbed(rows: Rows, meets: NDArray[np.bool_], ends: NDArray[np.bool_], around: Rows) -> Rows:
    """The first of each position and those around it that meets; -1 where none does within the module or range."""
    row: Rows = rows.copy()
    while (above := (row >= 0) & ~meets[row]).any():
        row[above] = np.where(ends[row[above]], -1, around[row[above]])
    return row
