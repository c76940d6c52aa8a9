"""Agreement with what Nsight Systems itself printed for the same recording, to the digit."""

from __future__ import annotations

import json
import re
import statistics
from fractions import Fraction

import pytest

from stepscope.analyses.host.api_calls import api_calls
from stepscope.analyses.host.os_runtime import os_runtime
from stepscope.analyses.kernels.kernels import kernels
from stepscope.model.intervals import Intervals
from support import recorded_trace, shared

REPORTS = {
    "osrt_sum": (os_runtime, "SELECT name, dur FROM events WHERE category = 'other' AND args LIKE '%os_runtime%'"),
    "cuda_api_sum": (
        api_calls,
        "SELECT name, dur FROM events JOIN tracks USING (rank, track) WHERE kind = 'host' "
        "AND category IN ('launch', 'runtime', 'sync')",
    ),
    "cuda_gpu_kern_sum": (kernels, "SELECT name, dur FROM kernels WHERE kind IN ('compute', 'comm')"),
}
#: The printed columns before the name.
PRINTED = ("share", "total_ns", "count", "mean_ns", "median_ns", "min_ns", "max_ns", "stddev")


@pytest.fixture(scope="module")
def trace():
    return recorded_trace("nsys", "lm_2_7b.sqlite")


def printed(report: str) -> list[tuple[str, dict[str, str]]]:
    """The rows of a printed report: name, which may be cut off, and figures as text."""
    text = shared("nsys", "expected_lm_2_7b_nsys_stats.txt").read_text(encoding="utf-8")
    [body] = re.findall(rf"\({report}\):\n\n(.*?)\n\n", text, re.DOTALL)
    rows = []
    for line in body.splitlines()[2:]:
        *figures, name = line.split(maxsplit=len(PRINTED))
        rows.append((name.rstrip().removesuffix("…"), dict(zip(PRINTED, figures, strict=True))))
    return rows


def as_printed(durations: list[int], total: int) -> dict[str, str]:
    """Figures of one row as `nsys stats` prints them: one decimal where they need not be whole."""
    mean, median = Fraction(sum(durations), len(durations)), Fraction(statistics.median(map(Fraction, durations)))
    deviation = statistics.stdev(map(Fraction, durations)) if len(durations) > 1 else 0
    return {
        "share": f"{100 * sum(durations) / total:.1f}", "total_ns": str(sum(durations)), "count": str(len(durations)),
        "mean_ns": f"{float(mean):.1f}", "median_ns": f"{float(median):.1f}", "min_ns": str(min(durations)),
        "max_ns": str(max(durations)), "stddev": f"{float(deviation):.1f}",
    }  # fmt: skip


@pytest.mark.parametrize("report", REPORTS)
def test_recorded_durations_give_every_printed_digit(report, trace):
    durations: dict[str, list[int]] = {}
    for row in trace.sql(REPORTS[report][1]).to_pylist():
        durations.setdefault(row["name"], []).append(row["dur"])
    total = sum(sum(values) for values in durations.values())
    found = sorted(durations.items(), key=lambda item: (-sum(item[1]), item[0]))
    expected = printed(report)
    assert len(found) == len(expected) > 0
    for (name, values), (start, figures) in zip(found, expected, strict=True):
        assert name.startswith(start)
        assert as_printed(values, total) == figures


@pytest.mark.parametrize("report", REPORTS)
def test_the_table_agrees_with_the_printed_report(report, trace):
    """Deliberate differences: whole nanoseconds, so means are rounded down and medians are recorded values."""
    table = REPORTS[report][0](trace)
    expected = printed(report)
    assert len(table) == len(expected) > 0
    for row, (start, figures) in zip(table.records(), expected, strict=True):
        assert row["name"].startswith(start)
        for column in ("total_ns", "count", "min_ns", "max_ns"):
            assert str(row[column]) == figures[column]
        assert f"{100 * row['share']:.1f}" == figures["share"]
        assert f"{row['total_ns'] / row['count']:.1f}" == figures["mean_ns"]
        assert row["mean_ns"] == row["total_ns"] // row["count"]
        if row["count"] % 2:
            assert row["median_ns"] == Fraction(figures["median_ns"])
        else:
            assert row["median_ns"] <= Fraction(figures["median_ns"])


SECOND = "expected_second_opinion.json"
NAMES = (
    "cloverleaf_sync_heavy", "h100_2gpu_1s", "lm_2_7b", "mfu_2gpu_after", "mfu_2gpu_before",
    "old_schema_sync_copies_gaps", "windows_low_util",
)  # fmt: skip
#: Printed operations on memory, as direction.
DIRECTIONS = {
    "[CUDA memcpy Host-to-Device]": "HtoD", "[CUDA memcpy Device-to-Host]": "DtoH",
    "[CUDA memcpy Device-to-Device]": "DtoD", "[CUDA memset]": "set",
}  # fmt: skip


@pytest.fixture(scope="module", params=NAMES)
def second(request):
    """A recording with what an independent implementation of the reports finds in it."""
    expected = json.loads(shared("nsys", SECOND).read_text(encoding="utf-8"))[f"{request.param}.sqlite"]
    return recorded_trace("nsys", f"{request.param}.sqlite"), expected


def test_every_row_of_every_table_is_there(second):
    trace, expected = second
    queries = {
        "KERNEL": "SELECT count(*) FROM kernels WHERE kind IN ('compute', 'comm')",
        "MEMCPY": "SELECT count(*) FROM kernels WHERE kind = 'copy'",
        "MEMSET": "SELECT count(*) FROM kernels WHERE kind = 'set'",
        "SYNCHRONIZATION": "SELECT count(*) FROM kernels WHERE kind = 'sync'",
        "RUNTIME": REPORTS["cuda_api_sum"][1].replace("name, dur", "count(*)"),
        "NVTX_EVENTS": "SELECT count(*) FROM events WHERE category IN ('op', 'annotation', 'module', 'step')",
        "SCHED_EVENTS": "SELECT count(*) FROM counters WHERE name = 'on CPU'",
    }
    assert expected["rows"]
    for table, query in queries.items():
        assert trace.scalar(query) == expected["rows"].get(table, 0), table


@pytest.mark.parametrize("report", REPORTS)
def test_the_longest_names_agree(report, second):
    trace, expected = second
    if report not in expected:
        pytest.skip("the recording has nothing for this report")
    rows = [row for rank in trace.ranks for row in REPORTS[report][0](trace.rank(rank)).records()]
    if report == "cuda_gpu_kern_sum":
        rows = [row for row in rows if row["kind"] in ("compute", "comm")]
    total = sum(row["total_ns"] for row in rows)
    # There, processes are not told apart, names are cut off, and several kernels may start alike.
    together: dict[str, list[dict]] = {}
    for row in rows:
        together.setdefault(row["name"], []).append(row)
    found = {
        (name[: len(figures["name"])], sum(row["total_ns"] for row in same)): same
        for name, same in together.items()
        for figures in expected[report]
    }
    for figures in expected[report]:
        same = found[figures["name"], figures["total_ns"]]
        assert sum(row["count"] for row in same) == figures["n"]
        assert (min(row["min_ns"] for row in same), max(row["max_ns"] for row in same)) == (
            figures["min"], figures["max"],
        )  # fmt: skip
        assert round(100 * figures["total_ns"] / total, 1) == figures["time_pct"]


def test_copies_agree(second):
    trace, expected = second
    query = (
        "SELECT direction, count(*) AS n, sum(dur)::BIGINT AS total, min(dur) AS min, max(dur) AS max, "
        "sum(c.bytes)::BIGINT AS bytes, min(c.bytes) AS least, max(c.bytes) AS most "
        "FROM kernels k JOIN copies c USING (rank, event) GROUP BY 1"
    )
    found = {row["direction"]: row for row in trace.sql(query).to_pylist()}
    assert len(found) == len(expected.get("cuda_gpu_mem_time_sum", []))
    for figures in expected.get("cuda_gpu_mem_time_sum", []):
        row = found[DIRECTIONS[figures["name"]]]
        assert (row["n"], row["total"], row["min"], row["max"]) == tuple(
            figures[key] for key in ("n", "total_ns", "min", "max")
        )
    for figures in expected.get("cuda_gpu_mem_size_sum", []):
        row = found[DIRECTIONS[figures["name"]]]
        assert (row["n"], row["bytes"], row["least"], row["most"]) == tuple(
            figures[key] for key in ("n", "total_bytes", "min", "max")
        )


def test_pageable_asynchronous_copies_agree(second):
    trace, expected = second
    [row] = trace.sql(
        "SELECT count(*) AS n, coalesce(sum(k.dur), 0)::BIGINT AS ns, coalesce(sum(c.bytes), 0)::BIGINT AS bytes "
        "FROM kernels k JOIN copies c USING (rank, event) JOIN events e ON e.rank = k.rank AND e.id = k.launch "
        "WHERE 'pageable' IN (c.src_kind, c.dst_kind) AND regexp_matches(e.name, 'cu(da)?Memcpy.*Async')"
    ).to_pylist()
    assert row == expected.get("rule_cuda_memcpy_async", {"n": 0, "ns": 0, "bytes": 0})


def test_busy_time_of_every_device_agrees(second):
    trace, expected = second
    devices = trace.sql(
        "SELECT t.process, k.device, list(k.ts ORDER BY k.ts, k.event) AS starts, "
        "list(k.ts + k.dur ORDER BY k.ts, k.event) AS ends "
        "FROM kernels k JOIN tracks t USING (rank, track) WHERE k.kind <> 'sync' GROUP BY ALL"
    ).to_pylist()
    assert len(devices) == len(expected["gpu"]) > 0
    for device in devices:
        figures = expected["gpu"][f"pid{device['process']}/dev{device['device']}"]
        union = Intervals.union_of(device["starts"], device["ends"])
        assert len(device["starts"]) == figures["ops"]
        assert max(device["ends"]) - min(device["starts"]) == figures["span_ns"]
        assert int(union.total) == figures["busy_union_ns"]


def test_communication_of_every_device_agrees(second):
    trace, expected = second
    if "nccl" not in expected:
        pytest.skip("the recording has no collectives")
    for key, figures in expected["nccl"].items():
        device = int(key.rsplit("dev", 1)[1])
        count, total = (
            trace.sql("SELECT count(*), sum(dur)::BIGINT FROM kernels WHERE kind = 'comm' AND device = ?", [device])
            .to_pydict()
            .values()
        )
        assert (count[0], total[0]) == (figures["kernels"], figures["comm_union_ns"])
