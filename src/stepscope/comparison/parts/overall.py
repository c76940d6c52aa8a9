"""The whole recording in the rows that users of the Ascend compare tool know, for any source.

Unlike the other tables it is about all that was recorded, not about the typical steps, and computing is split by sums
of durations; the categories are those of msprof-analyze 26.2.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_tree import host_trees
from stepscope.comparison.parts.amounts import Amount
from stepscope.comparison.side import ComparedSide
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.trace import Trace

OVERALL: Final = TableSchema(
    "overall",
    "The whole recording of either side, devices summed: computing (a union, split by sums of kernels), communication "
    "outside of computing, and the rest, from the first kernel or collective to the last.",
    (
        text("index", "What it is; rows below belong to the last one of a lower level."),
        Column("level", "int32", "0 for computing, communication, free and the whole; 1 and 2 for their parts."),
        ns("base_ns", "Time of the base."),
        fraction("base_share", "base_ns as a share of the whole."),
        count("base_count", "Kernels of the base; 0 where they are not counted."),
        ns("new_ns", "Time of the new side."),
        fraction("new_share", "new_ns as a share of the whole."),
        count("new_count", "Kernels of the new side; 0 where they are not counted."),
        ns("diff_ns", "new_ns - base_ns."),
        Column("ratio", "float64", "new_ns / base_ns; null where base_ns is 0.", "", True),
    ),
)
#: Words in the lower-case names of operators, in the order in which they count.
_OPERATORS: Final = (
    ("Flash Attention", ("flash_attention", "fusion_attention", "flashattn", "xformers_flash", "efficient_attention",
                         "flash2attn")),
    ("Conv", ("aten::conv",)),
    ("Matmul", ("aten::addmm", "aten::bmm", "aten::mm", "aten::matmul")),
)  # fmt: skip
_BACKWARD: Final = ("bwd", "backward", "back", "grad")
_TRANSFORMS: Final = ("cast", "transdata", "transpose")
_CUBE_SQL: Final = """
SELECT event, max(value) > 0 AS cube FROM kernel_metrics
WHERE metric IN ('aic_mac_time', 'aic_total_time') GROUP BY 1
"""
#: Part, category and unit.
Key = tuple[str, str, str]


def overall_sums(side: ComparedSide) -> dict[Key, Amount]:
    """Sums of a side by part, category and unit, in ns.

    Parts are computing, communication, copy, free and whole; categories of computing have units Cube and Vector.
    """
    work = DeviceWork.of(side.trace)
    compute, comm, copy = work.are("compute"), work.are("comm"), work.are("copy", "set")
    sums: defaultdict[Key, Amount] = defaultdict(Amount)
    for device in np.unique(work.device[compute | comm]).tolist():
        mine = work.device == device
        unions = [_union(work, mine & kind) for kind in (compute, comm, copy)]
        busy = mine & (compute | comm)
        low, high = int(work.ts[busy].min()), int((work.ts[busy] + work.dur[busy]).max())
        exposed = unions[1] - unions[0]
        idle = Intervals.union_of([low], [high]) - unions[0] - unions[1]
        sums["computing", "", ""] += Amount(unions[0].total)
        sums["communication", "", ""] += Amount(exposed.total)
        sums["copy", "", ""] += Amount((idle & unions[2]).total)
        sums["free", "", ""] += Amount(idle.total)
        sums["whole", "", ""] += Amount(high - low)
    at = np.flatnonzero(compute)
    names = side.trace.once(names_by_id)
    cube, operators = _cube(side.trace, work, at), _operators(side.trace, work, at)
    for position, is_cube, operator in zip(at.tolist(), cube.tolist(), operators, strict=True):
        if is_cube is None:
            continue
        key = _category(names.get(int(work.name[position]), "").lower(), bool(is_cube), operator)
        sums[key] += Amount(int(work.dur[position]), 1)
    return dict(sums)


def overall_table(base: Mapping[Key, Amount], new: Mapping[Key, Amount]) -> Table:
    """The table; rows without time on either side are left out, except those of level 0."""
    rows: list[tuple[object, ...]] = []
    whole = [max(1, one.get(("whole", "", ""), Amount()).ns) for one in (base, new)]

    def row(label: str, level: int, first: Amount, second: Amount) -> None:
        if level and not first.ns and not second.ns:
            return
        ratio = second.ns / first.ns if first.ns else None
        rows.append((label, level, first.ns, first.ns / whole[0], first.count, second.ns, second.ns / whole[1],
                     second.count, second.ns - first.ns, ratio))  # fmt: skip

    def total(category: str, unit: str = "") -> tuple[Amount, Amount]:
        sides = []
        for one in (base, new):
            chosen = [value for key, value in one.items() if key[:2] == ("kernels", category) and unit in ("", key[2])]
            sides.append(sum(chosen, Amount()))
        return sides[0], sides[1]

    def part(name: str) -> tuple[Amount, Amount]:
        return base.get((name, "", ""), Amount()), new.get((name, "", ""), Amount())

    counted = [sum((value for key, value in one.items() if key[0] == "kernels"), Amount()) for one in (base, new)]
    computing = [Amount(one.ns, kernels.count) for one, kernels in zip(part("computing"), counted, strict=True)]
    row("Computing Time", 0, *computing)
    for category in ("Flash Attention (Forward)", "Flash Attention (Backward)", "Conv (Forward)", "Conv (Backward)",
                     "Matmul"):  # fmt: skip
        row(category, 1, *total(category))
        for unit in ("Cube", "Vector"):
            row(f"{category} ({unit})", 2, *total(category, unit))
    row("Vector", 1, *total("Vector"))
    for unit in ("Trans", "No Trans"):
        row(f"Vector ({unit})", 2, *total("Vector", unit))
    row("Cube", 1, *total("Cube"))
    row("SDMA (Tensor Move)", 1, *total("SDMA (Tensor Move)"))
    other = [Amount(max(0, one.ns - kernels.ns)) for one, kernels in zip(part("computing"), counted, strict=True)]
    row("Other", 1, *other)
    row("Uncovered Communication Time", 0, *part("communication"))
    row("Free Time", 0, *part("free"))
    row("SDMA", 1, *part("copy"))
    row("Free", 1, *(Amount(free.ns - copy.ns) for free, copy in zip(part("free"), part("copy"), strict=True)))
    row("E2E Time", 0, *part("whole"))
    return Table.from_rows(OVERALL, rows)


def _category(kernel: str, cube: bool, operator: tuple[str, bool] | None) -> Key:
    if kernel.startswith("aclnninplacecopy") and "tensormove" in kernel:
        return "kernels", "SDMA (Tensor Move)", ""
    if operator is not None:
        name, backward = operator
        direction = "" if name == "Matmul" else " (Backward)" if backward else " (Forward)"
        return "kernels", name + direction, "Cube" if cube else "Vector"
    if cube:
        return "kernels", "Cube", ""
    return "kernels", "Vector", "Trans" if any(word in kernel for word in _TRANSFORMS) else "No Trans"


def _union(work: DeviceWork, chosen: NDArray[np.bool_]) -> Intervals:
    return Intervals.union_of(work.ts[chosen], work.ts[chosen] + work.dur[chosen])


def _cube(trace: Trace, work: DeviceWork, at: NDArray[np.int64]) -> NDArray[np.object_]:
    """Whether each kernel uses tensor cores: by counters, which some kernels of an NPU lack (None); else by class."""
    rows = trace.columns(_CUBE_SQL)
    if not rows["event"].size:
        return work.is_class("gemm", "convolution", "attention")[at].astype(object)
    known = dict(zip(rows["event"].tolist(), rows["cube"].astype(bool).tolist(), strict=True))
    return np.array([known.get(event) for event in work.event[at].tolist()], object)


def _operators(trace: Trace, work: DeviceWork, at: NDArray[np.int64]) -> list[tuple[str, bool] | None]:
    """For each kernel, the kind of the outermost such operator around its launch, and whether it runs backward."""
    names = trace.once(names_by_id)
    kinds = {name_id: kind for name_id, name in names.items() if (kind := _kind(name.lower())) is not None}
    backward_names = {name_id for name_id in kinds if any(word in names[name_id].lower() for word in _BACKWARD)}
    threads = _backward_threads(trace)
    found: list[tuple[str, bool] | None] = [None] * at.size
    for tree in host_trees(trace, ("op",)):
        outer = np.full(tree.id.size, -1)
        is_kind = np.isin(tree.name, list(kinds))
        for position in np.argsort(tree.depth, kind="stable").tolist():
            around = int(tree.parent[position])
            above = int(outer[around]) if around >= 0 else -1
            outer[position] = above if above >= 0 else position if is_kind[position] else -1
        positions = tree.positions(work.op[at])
        for i, position in enumerate(positions.tolist()):
            if position >= 0 and (holder := int(outer[position])) >= 0:
                name = int(tree.name[holder])
                found[i] = kinds[name], name in backward_names or int(tree.track[holder]) in threads
    return found


def _kind(name: str) -> str | None:
    return next((kind for kind, words in _OPERATORS if any(word in name for word in words)), None)


def _backward_threads(trace: Trace) -> set[int]:
    """The thread on which most backward operators run that a flow links to a forward one."""
    rows = trace.rows("SELECT s.track FROM flows f JOIN spans s ON s.id = f.target WHERE f.kind = 'forward_backward'")
    tracks = Counter(row["track"] for row in rows)
    return {tracks.most_common(1)[0][0]} if tracks else set()
