"""The whole recording in the rows that users of the Ascend compare tool know, for any source.

Unlike the other tables it is about all that was recorded, not about the typical steps, and computing is split by sums
of durations; the categories are those of msprof-analyze 26.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.parts.amounts import Amount
from stepscope.comparison.parts.comm_groups import group_numbers, group_times, plane_waits
from stepscope.comparison.parts.kernel_categories import Key, category_of, cubes, kernel_operators, kernel_types_of
from stepscope.comparison.side import ComparedSide
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, text
from stepscope.model.table import Table

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
        ns("diff_ns", "new_ns - base_ns.", signed=True),
        Column("ratio", "float64", "new_ns / base_ns; null where base_ns is 0.", "", True),
    ),
)


def overall_sums(side: ComparedSide) -> dict[Key, Amount]:
    """Sums of a side by part, category and unit, in ns.

    Parts are computing, communication, group (by number, in the order of their first collectives), wait and transmit of
    a group (where parts of collectives are recorded), overlapped (of several groups at once), copy, free and whole;
    categories of computing have units Cube and Vector.
    """
    work = DeviceWork.of(side.trace)
    compute, comm, copy = work.are("compute"), work.are("comm"), work.are("copy", "set")
    sums: defaultdict[Key, Amount] = defaultdict(Amount)
    group, planes = group_numbers(side, work), plane_waits(side)
    for device in np.unique(work.device[compute | comm]).tolist():
        mine = work.device == device
        unions = [_union(work, mine & kind) for kind in (compute, comm, copy)]
        busy = mine & (compute | comm)
        low, high = int(work.ts[busy].min()), int((work.ts[busy] + work.dur[busy]).max())
        exposed = unions[1] - unions[0]
        idle = Intervals.union_of([low], [high]) - unions[0] - unions[1]
        sums["computing", "", ""] += Amount(unions[0].total)
        sums["communication", "", ""] += Amount(exposed.total)
        groups = group_times(work, mine & comm, group, exposed, planes)
        for number, time in enumerate(groups.ns):
            sums["group", str(number), ""] += Amount(time)
            if (waited := groups.waits[number]) is not None:
                sums["wait", str(number), ""] += Amount(waited)
                sums["transmit", str(number), ""] += Amount(time - waited)
        sums["overlapped", "", ""] += Amount(groups.overlapped)
        sums["copy", "", ""] += Amount((idle & unions[2]).total)
        sums["free", "", ""] += Amount(idle.total)
        sums["whole", "", ""] += Amount(high - low)
    at = np.flatnonzero(compute)
    names = side.trace.once(names_by_id)
    cube, operators = cubes(side.trace, work, at), kernel_operators(side.trace, work, at)
    types = kernel_types_of(side.trace, work, at)
    for position, is_cube, operator, op_type in zip(at.tolist(), cube.tolist(), operators, types, strict=True):
        if is_cube is None:
            continue
        key = category_of(names.get(int(work.name[position]), "").lower(), bool(is_cube), operator, op_type)
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

    def part(name: str, of: str = "") -> tuple[Amount, Amount]:
        return base.get((name, of, ""), Amount()), new.get((name, of, ""), Amount())

    counted = [sum((value for key, value in one.items() if key[0] == "kernels"), Amount()) for one in (base, new)]
    computing = [Amount(one.ns, kernels.count) for one, kernels in zip(part("computing"), counted, strict=True)]
    row("Computing Time", 0, *computing)
    for category in ("Flash Attention (Forward)", "Flash Attention (Backward)", "Conv (Forward)", "Conv (Backward)",
                     "Matmul"):  # fmt: skip
        row(category, 1, *total(category))
        for unit in ("Cube", "Vector"):
            row(f"{category} ({unit})", 2, *total(category, unit))
    row("Page Attention", 1, *total("Page Attention"))
    row("MC2", 1, *total("MC2"))
    row("Vector", 1, *total("Vector"))
    for unit in ("Trans", "No Trans"):
        row(f"Vector ({unit})", 2, *total("Vector", unit))
    row("Cube", 1, *total("Cube"))
    row("SDMA (Tensor Move)", 1, *total("SDMA (Tensor Move)"))
    other = [Amount(max(0, one.ns - kernels.ns)) for one, kernels in zip(part("computing"), counted, strict=True)]
    row("Other", 1, *other)
    row("Uncovered Communication Time", 0, *part("communication"))
    for number in range(max((int(key[1]) + 1 for one in (base, new) for key in one if key[0] == "group"), default=0)):
        row(f"Group {number} Communication", 1, *part("group", str(number)))
        row("Wait", 2, *part("wait", str(number)))
        row("Transmit", 2, *part("transmit", str(number)))
    row("Uncovered Communication Overlapped", 1, *part("overlapped"))
    row("Free Time", 0, *part("free"))
    row("SDMA", 1, *part("copy"))
    row("Free", 1, *(Amount(free.ns - copy.ns) for free, copy in zip(part("free"), part("copy"), strict=True)))
    row("E2E Time", 0, *part("whole"))
    return Table.from_rows(OVERALL, rows)


def _union(work: DeviceWork, chosen: NDArray[np.bool_]) -> Intervals:
    return Intervals.union_of(work.ts[chosen], work.ts[chosen] + work.dur[chosen])
