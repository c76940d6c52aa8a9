"""Device time of a server's passes by phase and by the role of its kernels."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.serving.passes import ServedPass, served_passes
from stepscope.analyses.serving.roles import ROLES, roles
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.model.partition import partition
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

IDLE: Final = "idle"

SERVING_ROLES: Final = TableSchema(
    "serving_roles",
    "What the passes of each phase take on the device, by role of the kernels. Of roles that run at once the first "
    "counts, in the order attention, moe, gemm, communication, cache, sampling, normalisation, pointwise, copy, other; "
    "with idle they add up to the passes' device_ns as far as passes do not overlap, exactly.",
    (
        RANK,
        text("phase", "As in `serving`."),
        text("role", "attention, moe (experts with their routing), gemm (all others), communication, cache (writing "
             "and indexing keys and values), sampling, normalisation, pointwise (activations, rotary, casts, sums), "
             "copy, other; idle."),
        count("count", "Device activities of the role."),
        ns("total_ns", "Time on the device."),
        fraction("share", "Of the time of all passes of the phase."),
        Column("pass_ns", "int64", "total_ns over the passes of the phase, rounded down.", "ns"),
        Column("token_ns", "float64", "total_ns over the tokens that they read or made; null if not told.", "ns", True),
    ),
)  # fmt: skip


def serving_roles(trace: Trace) -> Table:
    """Sum up roles by phase; no rows where there are no passes with device work."""
    passes = [one for one in trace.once(served_passes) if one.device_start is not None]
    if not passes:
        return Table.empty(SERVING_ROLES)
    [rank] = trace.ranks
    role = trace.once(roles)
    tiles = role_tiles(trace, windows(passes))
    rows: list[tuple[Any, ...]] = []
    for phase in dict.fromkeys(one.batch.phase for one in passes):
        mine = [i for i, one in enumerate(passes) if one.batch.phase == phase]
        total = sum(sum(tiles[i].values()) for i in mine)
        read = [passes[i].batch.tokens for i in mine]
        tokens = None if None in read else sum(one or 0 for one in read)
        members = np.concatenate([passes[i].work for i in mine])
        counts = np.bincount(role[members], minlength=len(ROLES))
        for position, name in enumerate((*ROLES, IDLE)):
            spent = sum(tiles[i].get(name, 0) for i in mine)
            number = int(counts[position]) if name != IDLE else 0
            if spent or number:
                per_token = spent / tokens if tokens else None
                share = spent / total if total else 0.0
                rows.append((rank, phase, name, number, spent, share, spent // len(mine), per_token))
    return Table.from_rows(SERVING_ROLES, rows)


def windows(passes: list[ServedPass]) -> list[tuple[int, int]]:
    """Device time of each pass as stretches that do not overlap: where passes do, the earlier one counts."""
    found: list[tuple[int, int]] = []
    end: int | None = None
    for one in passes:
        start, stop = one.device_start or 0, one.device_end or 0
        if end is not None:
            start = max(start, end)
        stop = max(stop, start)
        found.append((start, stop))
        end = stop
    return found


def role_tiles(trace: Trace, stretches: list[tuple[int, int]]) -> list[dict[str, int]]:
    """Time of each role, and idle, in each stretch of device time; the times of a stretch add up to it."""
    lo, hi = min(start for start, _ in stretches), max(stop for _, stop in stretches)
    work, role = DeviceWork.of(trace), trace.once(roles)
    real = ~work.are("sync")
    layers = []
    for position in range(len(ROLES)):
        mine = real & (role == position)
        layers.append(Intervals.union_of(work.ts[mine], work.ts[mine] + work.dur[mine]))
    starts, ends, labels = partition(layers, lo, hi)
    firsts, lasts = np.array(stretches, np.int64).T
    found: list[dict[str, int]] = [{} for _ in stretches]
    for position, name in enumerate((*ROLES, IDLE)):
        mine = labels == position
        covered = Intervals.union_of(starts[mine], ends[mine]).within(firsts, lasts)
        for one, spent in zip(found, covered.tolist(), strict=True):
            if spent:
                one[name] = spent
    return found


ANALYSES = (Analysis(SERVING_ROLES, serving_roles),)
