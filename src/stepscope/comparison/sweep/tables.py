"""The tables of a sweep: a row per recording, and a row per recording and part of its step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stepscope.comparison.sweep.axis import SweepAxis
from stepscope.comparison.sweep.point import SweepPoint
from stepscope.model.schema import Column, TableSchema, count, ns, number, size, text
from stepscope.model.table import Table

_AT: Final = number("at", "Batch size or number of ranks; the place in the order given where neither is known.")
SWEEP: Final = TableSchema(
    "sweep",
    "Recordings of one program at several batch sizes or numbers of ranks, the smallest first. Times are means over "
    "typical steps and devices of one rank.",
    (
        _AT,
        text("source", "The recording."),
        Column("ranks", "int64", "World size; the number of recorded ranks where that is not recorded.", "count"),
        count("steps", "Typical steps; of a recording without steps 1, the whole."),
        ns("step_ns", "Mean step; null without steps. The four times after it add up to it.", nullable=True),
        ns("compute_ns", "Union of compute kernels; null where no device is recorded.", nullable=True),
        ns("exposed_comm_ns", "Collectives outside of compute; null likewise.", nullable=True),
        ns("exposed_copy_ns", "Copies outside of both; null likewise.", nullable=True),
        ns("idle_ns", "The rest of the step; null likewise.", nullable=True),
        number("throughput", "Items per second of all ranks, each rank with a batch of its own; null without steps.",
               nullable=True),
        text("items", "What throughput counts: tokens or images (as recorded), samples (of the batch size given) or "
             "batches, one per step and rank, where their size is not known."),
        number("speedup", "throughput over that of the first row; null without it.", nullable=True),
        number("efficiency", "speedup over the growth of `at` since the first row: 1 is linear scaling; null where "
               "`at` is an order.", nullable=True),
        size("peak_bytes", "Most device memory in use; null where it is not recorded.", nullable=True),
        size("peak_reserved_bytes", "Most memory that the allocator held; null likewise.", nullable=True),
    ),
)  # fmt: skip
SWEEP_PARTS: Final = TableSchema(
    "sweep_parts",
    "What the mean step of each recording is made of; the rows of a recording add up to it.",
    (
        _AT,
        text("source", "The recording."),
        text("part", "compute, exposed_communication, exposed_copy, idle.CAUSE as in `idle_causes`; host where no "
             "device is recorded."),
        ns("ns", "Time per step, or of the whole recording where no steps are known."),
    ),
)  # fmt: skip
_BUSY: Final = ("compute", "exposed_communication", "exposed_copy")


def sweep_table(points: Sequence[SweepPoint], axis: SweepAxis) -> Table:
    """The table `sweep`: `points` in the order of `axis.at`, which ascends."""
    unit, items = _items(points, axis)
    rows: list[tuple[Any, ...]] = []
    first: float | None = None
    for i, (point, at) in enumerate(zip(points, axis.at, strict=True)):
        ranks = int(at) if axis.name == "ranks" else point.ranks
        step = point.step_ns
        rate = items[i] * ranks * 1e9 / step if step else None
        first = rate if i == 0 else first
        speedup = rate / first if rate and first else None
        growth = at / axis.at[0]
        rows.append((
            at, point.summary.facts.source, ranks, len(point.summary.lengths), step, *_times(point), rate, unit,
            speedup, speedup / growth if speedup and axis.name != "input" else None,
            point.peak("peak_memory"), point.peak("peak_reserved"),
        ))  # fmt: skip
    return Table.from_rows(SWEEP, rows)


def parts_table(points: Sequence[SweepPoint], axis: SweepAxis) -> Table:
    """The table `sweep_parts`."""
    rows = [
        (at, point.summary.facts.source, part, value)
        for point, at in zip(points, axis.at, strict=True)
        for part, value in point.parts.items()
        if value
    ]
    return Table.from_rows(SWEEP_PARTS, rows)


def _items(points: Sequence[SweepPoint], axis: SweepAxis) -> tuple[str, list[float]]:
    """What is counted, and how much of it a step of one rank reads: the same kind of thing for all recordings."""
    known = [point.items for point in points if point.items is not None]
    units = {point.unit for point in points}
    if len(known) == len(points) and len(units) == 1:
        return points[0].unit, known
    return ("samples", list(axis.at)) if axis.name == "batch" else ("batches", [1.0] * len(points))


def _times(point: SweepPoint) -> tuple[int | None, ...]:
    if point.step_ns is None or "host" in point.parts or not point.parts:
        return (None,) * (len(_BUSY) + 1)
    idle = sum(ns for part, ns in point.parts.items() if part not in _BUSY)
    return (*(point.parts.get(part, 0) for part in _BUSY), idle)
