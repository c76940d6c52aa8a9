"""What of a benchmark's TTFT, TPOT and ITL the passes of a recorded server explain."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any, Final

from stepscope.analyses.serving.benchmark import Benchmark
from stepscope.analyses.serving.serving import serving
from stepscope.analyses.serving.serving_times import OUTPUT, PROMPT, VERIFIED, serving_times
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, text
from stepscope.model.table import Table
from stepscope.model.trace import Trace

REST: Final = "not in the passes"
_PROMPTS: Final = 1_000

EXPLAINED: Final = TableSchema(
    "served_latency",
    "Parts of a benchmark's latencies by what a recording of the server shows; those of each add up to it. The rest is "
    "what no recorded pass takes: queueing, network, tokenizing, another load; below zero, passes are longer than the "
    "benchmark's, as where profiling slows the host or prompts come from a cache.",
    (
        text("of", "ttft (mean), tpot (mean), itl (median) or itl p99."),
        text("part", f"As in `serving_times`; for itl pass and gap; {REST}."),
        Column("time_ns", "int64", "Time of it.", "ns", signed=True),
        Column("share", "float64", "Of the benchmark's figure.", "fraction", signed=True),
    ),
)  # fmt: skip


def explained(trace: Trace, benchmark: Benchmark) -> Table:
    """Hold a benchmark's figures against the passes of a trace of one rank.

    * TTFT: the parts of 1,000 prompt tokens times the mean length of a prompt, as if it were read alone.
    * TPOT: the parts of an output token; with drafts those of a verification over the tokens that one makes.
    * ITL: the pass in the middle of those that only decode, and the gap before it; at the 99th percentile, the longest
      time from the end of one pass with answers to that of the next.

    Raises:
        MissingInputError: The trace has no pass of a server.
    """
    passes = trace.once(serving).records()
    if not passes:
        raise MissingInputError("no range of the recording names a pass of a server", hint="record vLLM, SGLang or "
                                "TensorRT-LLM with the profiler that comes with it")  # fmt: skip
    times = trace.once(serving_times).records()
    rows: list[tuple[Any, ...]] = []
    for of, measured, parts in (
        ("ttft", benchmark.ttft, _first(times, benchmark)),
        ("tpot", benchmark.tpot, _each(times, benchmark)),
        ("itl", benchmark.itl, _between(passes, benchmark)),
        ("itl p99", benchmark.itl_p99, _longest(passes)),
    ):
        if measured is None or not parts:
            continue
        whole = round(measured)
        rest = whole - sum(parts.values())
        rows += [(of, part, ns, ns / whole if whole else 0.0) for part, ns in {**parts, REST: rest}.items()]
    return Table.from_rows(EXPLAINED, rows)


def _first(times: list[dict[str, Any]], benchmark: Benchmark) -> dict[str, int]:
    length = benchmark.input_tokens / benchmark.requests
    return {row["part"]: round(row["token_ns"] * length / _PROMPTS) for row in times if row["of"] == PROMPT}


def _each(times: list[dict[str, Any]], benchmark: Benchmark) -> dict[str, int]:
    made = {OUTPUT: 1.0, VERIFIED: benchmark.accepted}
    known = [(row, each) for row in times if (each := made.get(row["of"]))]
    return {row["part"]: round(row["token_ns"] / each) for row, each in known}


def _between(passes: list[dict[str, Any]], benchmark: Benchmark) -> dict[str, int]:
    rows = [row for row in passes if row["phase"] == "decode" and row["device_ns"]]
    # With drafts several tokens come at once, and benchmarks count the time between messages.
    if not rows or benchmark.accepted:
        return {}
    gaps = [row["gap_ns"] for row in rows if row["gap_ns"] is not None]
    found = {"pass": round(median(row["device_ns"] for row in rows))}
    return {**found, "gap": round(median(gaps))} if gaps else found


def _longest(passes: list[dict[str, Any]]) -> dict[str, int]:
    """The longest time from one pass with answers to the next, by what lies in it."""
    waits = list(_waits(passes))
    return max(waits, key=lambda one: sum(one.values())) if waits else {}


def _waits(passes: list[dict[str, Any]]) -> Iterator[dict[str, int]]:
    prefill, gaps, seen = 0, 0, False
    for row in passes:
        gaps += row["gap_ns"] or 0
        if row["answers"]:
            if seen:
                yield {"pass": row["device_ns"] or 0, "prefill in between": prefill, "gap": gaps}
            prefill, gaps, seen = 0, 0, True
        else:
            prefill += row["device_ns"] or 0
