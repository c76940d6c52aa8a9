"""Rates of a machine from a recording of it: arithmetic, memory, links, and what the host takes to issue a kernel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from stepscope.analyses.registry import analyses, table_of
from stepscope.language import listing, said
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.trace import Trace
from stepscope.planning.machine.platform import Platform
from stepscope.planning.machine.topology import mesh_share

#: Share of tiles and waves that multiplications of usual layers fill: what is measured is less by it than what large
#: ones sustain.
_FILLED: Final = 0.92
#: Collectives of fewer bytes show latency rather than bandwidth.
_LEAST_BYTES: Final = 16 << 20
#: Kernels of a recording below which its host time says little.
_LEAST_KERNELS: Final = 100
#: FLOPs of a multiplication and bytes of a kernel below which its start and end show, not its rate.
_LEAST_FLOPS: Final = 1e10
_LEAST_MOVED: Final = 16 << 20
#: Time from one launch to the next on the same thread. A quarter takes no longer: that leaves out what waits for data,
#: and most of the profiler. Where kernels start within 50 us, no queue of others holds up the host.
_LAUNCHES: Final = """
    SELECT count(*) AS number, quantile_cont(gap, 0.25) AS gap,
        count(*) FILTER (queued < 50000) AS free, quantile_cont(gap, 0.25) FILTER (queued < 50000) AS free_gap
    FROM (
        SELECT e.ts - lag(e.ts) OVER (PARTITION BY e.track ORDER BY e.ts) AS gap, k.ts - e.ts AS queued
        FROM kernels k JOIN events e ON e.id = k.launch WHERE k.kind = 'compute' AND k.graph IS NULL
    ) WHERE gap > 0
"""
#: Kernels of attention's backward pass: `..._backward`, `..._bwd`, `FlashAttentionScoreGrad`.
_BACKWARD: Final = re.compile(r"backward|bwd|grad", re.IGNORECASE)
#: Tokens of a sequence, where a recording does not say them.
_USUAL_SEQ: Final = 4096
_WAYS: Final = (said("forward"), said("backward"))
#: Share of what links usually reach below which collectives wait for other ranks rather than for the link.
_WAITING: Final = 0.2


def calibrated(platform: Platform, trace: Trace) -> Platform:
    """The platform with what the recording's first rank reached instead of tabulated rates; `taken` says what.

    Raises:
        UserError: The recording tells none of them.
    """
    one = trace.rank(trace.ranks[0])
    roofline, collectives = _rows(one, "roofline"), _rows(one, "collectives")
    found = platform
    for step in (_multiplications, _attention, _memory):
        found = step(found, roofline)
    found = _links(found, collectives)
    found = _dispatch(found, one)
    if not found.taken:
        raise UserError(
            "the recording tells no rate of the machine",
            hint="record shapes of operators, or a job of several ranks with its collectives",
        )
    return found


def _rows(trace: Trace, name: str) -> list[dict[str, Any]]:
    with suppress(MissingInputError):
        return table_of(analyses()[name], trace).records()
    return []


def _rate(rows: Sequence[dict[str, Any]], amount: str) -> float | None:
    """Amount per second over all rows."""
    time = sum(row["total_ns"] for row in rows)
    return sum(row[amount] or 0 for row in rows) / (time / 1e9) if time else None


def _large(row: dict[str, Any], amount: str, least: float) -> bool:
    return (row[amount] or 0) >= least * max(1, row["count"] or 1)


def _multiplications(one: Platform, rows: list[dict[str, Any]]) -> Platform:
    for dtypes, names in ((("bf16", "fp16"), ("bf16", "fp16")), (("fp8",), ("fp8",))):
        chosen = [
            row
            for row in rows
            if row["op_class"] == "gemm" and row["dtype"] in dtypes and _large(row, "flops", _LEAST_FLOPS)
        ]
        rate = _rate(chosen, "flops")
        if rate:
            share = min(1.0, rate / one.peak(dtypes[0]) / _FILLED)
            lines = said(
                "matrix multiplications in {dtype} reach {rate:.0f} TFLOP/s",
                dtype=chosen[0]["dtype"],
                rate=rate / 1e12,
            )
            one = replace(one, sustained={**one.sustained, **dict.fromkeys(names, share)}, taken=(*one.taken, lines))
    return one


def _attention(one: Platform, rows: list[dict[str, Any]]) -> Platform:
    half = [row for row in rows if row["op_class"] == "attention" and row["dtype"] in ("bf16", "fp16")]
    chosen = [row for row in half if _large(row, "flops", _LEAST_FLOPS)]
    measured: list[float | None] = []
    for backward in (False, True):
        rate = _rate([row for row in chosen if bool(_BACKWARD.search(row["name"])) == backward], "flops")
        measured.append(min(0.95, rate / one.peak("bf16")) if rate else None)
    words = [
        said("{percent:.0f} % {way}", percent=100 * share, way=way)
        for share, way in zip(measured, _WAYS, strict=True)
        if share is not None
    ]
    if not words:
        return one
    # A share is that of long sequences; recorded ones are taken for usual ones. What is not recorded keeps its
    # tabulated share.
    at = (_USUAL_SEQ + one.reach) / (_USUAL_SEQ + 400.0)
    shares = [
        tuple(usual if share is None else min(0.95, at * share) for share, usual in zip(measured, each, strict=True))
        for each in (one.attention, one.attention3)
    ]
    lines = said("attention reaches {words} of the peak", words=listing(words))
    return replace(
        one, attention=(shares[0][0], shares[0][1]), attention3=(shares[1][0], shares[1][1]), taken=(*one.taken, lines)
    )


def _memory(one: Platform, rows: list[dict[str, Any]]) -> Platform:
    classes = ("elementwise", "reduction", "normalisation", "optimizer")
    bound = [row for row in rows if row["op_class"] in classes and row["bound"] == "memory"]
    chosen = [row for row in bound if _large(row, "bytes", _LEAST_MOVED)]
    rate = _rate(chosen, "bytes")
    if not rate:
        return one
    lines = said("element-wise kernels move {rate:.0f} GB/s", rate=rate / 1e9)
    return replace(one, memory_bandwidth=rate, taken=(*one.taken, lines))


def _links(one: Platform, rows: list[dict[str, Any]]) -> Platform:
    """Bus bandwidth of large collectives; groups that fit into a server are taken to lie in one."""
    for name, inside in (("link", True), ("network", False)):
        chosen = [
            (row["best_bus_bandwidth"] / (mesh_share(row["world_size"], one) if inside else one.per_server), row)
            for row in rows
            if row["best_bus_bandwidth"] and row["name"] in ("all_reduce", "all_gather", "reduce_scatter")
            and (row["bytes"] or 0) >= _LEAST_BYTES * row["count"] and (row["world_size"] or 0) > 1
            and (row["world_size"] <= one.per_server) == inside
        ]  # fmt: skip
        if not chosen:
            continue
        rate, row = max(chosen, key=lambda each: each[0])
        where = said("within a server") if inside else said("between servers")
        lines = said(
            "collectives {where} reach {best_bus_bandwidth:.1f} GB/s of bus bandwidth",
            where=where,
            best_bus_bandwidth=row["best_bus_bandwidth"] / 1e9,
        )
        if rate < _WAITING * getattr(one, name):
            one = replace(
                one, taken=(*one.taken, said("{rate} at best: they wait for ranks, so not taken", rate=lines))
            )
        else:
            one = replace(one, taken=(*one.taken, lines), **{name: rate})
    return one


def _dispatch(one: Platform, trace: Trace) -> Platform:
    (found,) = trace.rows(_LAUNCHES)
    if found["free"] >= _LEAST_KERNELS:
        cost, held_up = float(found["free_gap"]), False
    elif found["number"] >= _LEAST_KERNELS:
        # The device holds the host up: it could be faster, but takes no longer.
        cost, held_up = float(found["gap"]), True
        if cost / 1e9 > one.launch:
            return one
    else:
        return one
    lines = said("the host issues a kernel every {cost:.1f} µs, the profiler included", cost=cost / 1e3)
    if held_up:
        lines = said("the host issues a kernel at least every {cost:.1f} µs, the profiler included", cost=cost / 1e3)
    return replace(one, launch=cost / 1e9, taken=(*one.taken, lines))
