"""Who held the memory at its peak."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.memory.memory_levels import DEVICE, memory_levels
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, texts
from stepscope.analyses.shared.host_tree import host_tree
from stepscope.model.events.nesting import is_outer_first, outer_first
from stepscope.model.schema import TableSchema, count, fraction, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MEMORY_HOLDERS = TableSchema(
    "memory_holders",
    "Who held the memory at the peak of each device: allocations that were live then, by the operator and the module "
    "in which they were made, the largest first.",
    (
        RANK,
        DEVICE,
        text("operator", "Outermost operator around the allocation; null outside operators.", nullable=True),
        text("module", "Innermost module or annotation around it; null outside them.", nullable=True),
        size("bytes", "Bytes live at the peak."),
        count("count", "Allocations that they consist of."),
        fraction("share", "bytes as a share of the peak; 0 if that is 0."),
    ),
)
_OPERATORS_SQL: Final = """
SELECT ts, ts + dur AS stop, name_id FROM spans
WHERE category = 'op' AND dur > 0 AND track = $track AND ts <= $last
"""
_OWNERS_SQL: Final = "SELECT id, track, ts FROM spans WHERE id IN (SELECT unnest($owners)) ORDER BY id"


def memory_holders(trace: Trace) -> Table:
    """Tell who held the memory at the peaks; no rows for a device whose addresses were not recorded.

    Raises:
        MissingInputError: The recording has no allocations.
    """
    rows: list[tuple[Any, ...]] = []
    for levels in memory_levels(trace):
        top = int(levels.allocated.argmax())
        live = levels.live(top)
        if live is None or not live.size:
            continue
        peak = int(levels.allocated[top])
        operator, module = operator_and_module(trace, levels.owner[live])
        groups = Groups.by(operator, module)
        total = groups.sum(levels.bytes[live])
        names = zip(texts(trace, operator[groups.first]), texts(trace, module[groups.first]), strict=True)
        for (op, around), held, number in sorted(
            zip(names, total.tolist(), groups.count.tolist(), strict=True),
            key=lambda row: (-row[1], row[0][0] or "", row[0][1] or ""),
        ):
            share = held / peak if peak else 0.0
            rows.append((trace.ranks[0], levels.device, op, around, held, number, share))
    return Table.from_rows(MEMORY_HOLDERS, rows)


def operator_and_module(trace: Trace, owners: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`name_id` of the outermost operator and of the innermost module or annotation around events, -1 if none."""
    wanted = np.unique(owners[owners >= 0])
    parameters = {"owners": wanted.tolist()}
    tree = host_tree(trace, ("module", "annotation"), wanted)
    nearest = tree.nearest(tree.category >= 0)
    position = tree.positions(wanted)
    around = np.where(position < 0, -1, nearest[position])
    module = np.where(around < 0, -1, tree.name[around])
    operator = np.full(wanted.size, -1, np.int64)
    points = trace.columns(_OWNERS_SQL, parameters)
    for track in np.unique(points["track"]).tolist():
        mine = points["track"] == track
        ts = points["ts"][mine]
        ops = trace.columns(_OPERATORS_SQL, {"track": track, "last": int(ts.max())})
        operator[np.searchsorted(wanted, points["id"][mine])] = _outermost(ops, ts)
    at = np.searchsorted(wanted, owners)
    inside = owners >= 0
    found = np.minimum(at, max(wanted.size - 1, 0))
    if not wanted.size:
        return np.full(owners.size, -1), np.full(owners.size, -1)
    return np.where(inside, operator[found], -1), np.where(inside, module[found], -1)


def _outermost(ops: dict[str, NDArray[Any]], ts: NDArray[np.int64]) -> NDArray[np.int64]:
    """`name_id` of the outermost operator of one thread at each time, -1 if none."""
    if not ops["ts"].size:
        return np.full(ts.size, -1)
    if not is_outer_first(ops["ts"], ops["stop"]):
        order = outer_first(ops["ts"], ops["stop"])
        ops = {name: values[order] for name, values in ops.items()}
    reach = np.maximum.accumulate(np.concatenate(([np.iinfo(np.int64).min], ops["stop"][:-1])))
    outer = ops["ts"] >= reach
    starts, stops, names = ops["ts"][outer], ops["stop"][outer], ops["name_id"][outer]
    at = np.maximum(np.searchsorted(starts, ts, side="right") - 1, 0)
    return np.where((starts[at] <= ts) & (ts < stops[at]), names[at], -1)


ANALYSES = (Analysis(MEMORY_HOLDERS, memory_holders),)
