"""What the peak of device memory is made of, on both sides."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final

from stepscope.analyses.host.modules import MARK
from stepscope.analyses.memory.memory_holders import memory_holders
from stepscope.analyses.memory.memory_peaks import memory_peaks
from stepscope.analyses.snapshots.memory_snapshot_peaks import memory_peak_stacks
from stepscope.comparison.parts.amounts import Amount, beside
from stepscope.comparison.side import ComparedSide
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, size, text
from stepscope.model.table import Table

MEMORY_PEAK: Final = TableSchema(
    "memory_peak",
    "What the peak of device memory is made of, of the device with the highest one, the largest difference first. The "
    "rows of one value of `by` add up to the peak; what was allocated before the recording is a row of its own.",
    (
        text("by", "Of memory snapshots purpose, module and line of the user's code; else operator and module."),
        text("name", "As in `memory_peak_stacks` and `memory_holders`; `(none)` where that is null."),
        size("base_bytes", "Bytes of the base."),
        size("new_bytes", "Bytes of the new one."),
        Column("diff_bytes", "int64", "new_bytes - base_bytes.", "bytes", signed=True),
        Column("ratio", "float64", "new_bytes / base_bytes; null where base_bytes is 0.", "", True),
        Column("base_count", "float64", "Allocations of the base.", "count"),
        Column("new_count", "float64", "Allocations of the new one.", "count"),
    ),
)
_OF_SNAPSHOT: Final = ("purpose", "module", "line")
_SNAPSHOT_ALONE: Final = frozenset({"purpose", "line"})
_NONE: Final = "(none)"
#: What a snapshot calls parameters and optimizer state where it does not tell them apart.
TOGETHER: Final = "parameters and optimizer state"
_APART: Final = ("parameters", "optimizer state")
#: What was in use at the peak and allocated before the recording began.
OLDER: Final = "(older than the recording)"


def peak_sums(side: ComparedSide) -> dict[Any, Amount]:
    """Bytes and number of the allocations that were in use at the peak, by way of splitting them and name.

    Raises:
        MissingInputError: The recording does not tell which allocations these are.
    """
    try:
        rows = [row for row in side.trace.once(memory_peak_stacks).records() if row["by"] in _OF_SNAPSHOT]
    except MissingInputError:
        rows = []
    of_snapshot = bool(rows)
    rows = rows or [
        {**row, "by": by, "name": (row[by] or _NONE).removeprefix(MARK)}
        for row in side.trace.once(memory_holders).records()
        if row["device"] is not None
        for by in ("operator", "module")
    ]
    held: Counter[int] = Counter()
    for row in rows:
        held[row["device"]] += row["bytes"]
    if not held:
        if side.trace.scalar("SELECT count(*) FROM memory WHERE bytes IS NOT NULL AND address IS NULL"):
            raise MissingInputError(
                "allocations are recorded without addresses, so that none can be followed to the peak",
                hint="record with a newer version of the framework",
            )
        raise MissingInputError.of("allocations")
    [(device, _)] = held.most_common(1)
    sums: defaultdict[Any, Amount] = defaultdict(Amount)
    for row in rows:
        if row["device"] == device:
            sums[row["by"], row["name"]] += Amount(row["bytes"], row["count"])
    for by in () if of_snapshot else ("operator", "module"):
        older = _peak(side, device) - sum(amount.ns for (of, _), amount in sums.items() if of == by)
        if older > 0:
            sums[by, OLDER] += Amount(older)
    return dict(sums)


def _peak(side: ComparedSide, device: int) -> int:
    """Bytes in use at the peak of a device; 0 where that is not recorded."""
    try:
        rows = side.trace.once(memory_peaks).records()
    except MissingInputError:
        return 0
    return next((row["peak_bytes"] or 0 for row in rows if row["device"] == device), 0)


def peak_table(base: Mapping[Any, Amount], new: Mapping[Any, Amount]) -> Table:
    """Compare what peaks are made of; empty where the two are split in different ways, as a snapshot and a trace are.

    What both call a module is a file in one and a module of the framework in the other.
    """
    ways = [{by for by, _ in side} for side in (base, new)]
    if not ways[0] & ways[1] or len({bool(side & _SNAPSHOT_ALONE) for side in ways}) > 1:
        return Table.empty(MEMORY_PEAK)
    rows = beside(_alike(base, new), _alike(new, base), (1, 1))
    return Table.from_rows(MEMORY_PEAK, [(*row.key, *row.values) for row in rows])


def _alike(mine: Mapping[Any, Amount], other: Mapping[Any, Amount]) -> dict[Any, Amount]:
    """One side's purposes as the other tells them: what it can't tell apart is one there, and so here."""
    together = ("purpose", TOGETHER)
    if together not in other:
        return dict(mine)
    sums: defaultdict[Any, Amount] = defaultdict(Amount)
    for (by, name), amount in mine.items():
        sums[together if by == "purpose" and name in _APART else (by, name)] += amount
    return dict(sums)
