"""What is computed from a recording agrees with what the profiler computed itself."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope.analyses.registry import analyses
from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace
from support import recorded_trace, shared

TEXT = [(level, rank) for level in ("level0_text", "level1_text") for rank in (0, 1)]
LEVEL1 = [case for case in TEXT if case[0] == "level1_text"]
#: Durations have fractions of a ns in the trace and are whole here, so that each of n differs by up to half a ns.
HALF_NS = 0.5


def _folder(level: str, rank: int) -> Path:
    return shared("ascend", f"alexnet_ddp_{level}", f"rank{rank}_ascend_pt")


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    traces: dict[tuple[str, int], Trace] = {}

    def get(level: str, rank: int) -> Trace:
        if (level, rank) not in traces:
            traces[level, rank] = recorded_trace(_folder(level, rank))
        return traces[level, rank]

    yield get
    for trace in traces.values():
        trace.close()


def _rows(level: str, rank: int, name: str) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 24)
    path = _folder(level, rank) / "ASCEND_PROFILER_OUTPUT" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [{key: value.strip() for key, value in row.items()} for row in csv.DictReader(file)]


def _ns(microseconds: str) -> float:
    return float(microseconds) * 1000


def _union(trace: Trace, kinds: str) -> Intervals:
    rows = trace.columns(f"SELECT ts, ts + dur AS stop FROM kernels WHERE kind IN ({kinds})")
    return Intervals.union_of(rows["ts"], rows["stop"])


@pytest.mark.parametrize(("level", "rank"), [*TEXT, ("level1_db", 0), ("level1_db", 1)])
def test_step_budget_agrees_with_step_trace_times(opened: Any, level: str, rank: int) -> None:
    """Computing, Communication and Not Overlapped are compute, communication and exposed communication of the step.

    Free is defined differently: the profiler counts from the first to the last kernel and takes copies for idle time,
    while a step here starts on the host and has exposed copies apart.
    """
    trace = opened(level, rank)
    [step] = [r for r in analyses()["step_budget"].run(trace).records() if r["step"] is not None]
    recorded = {
        r["metric"]: r["value"] * 1000
        for r in trace.sql("SELECT metric, value FROM recorded WHERE source = 'steps'").to_pylist()
    }
    kernels = 191 * HALF_NS
    assert step["compute_ns"] == pytest.approx(recorded["Computing"], abs=kernels)
    assert step["comm_ns"] == pytest.approx(recorded["Communication"], abs=4)
    assert step["exposed_comm_ns"] == pytest.approx(recorded["Communication(Not Overlapped)"], abs=kernels)
    overlapped = step["comm_ns"] - step["exposed_comm_ns"]
    assert overlapped == pytest.approx(recorded["Overlapped"], abs=kernels)
    busy = _union(trace, "'compute', 'comm'")
    first, last = int(busy.starts[0]), int(busy.ends[-1])
    assert last - first - busy.total == pytest.approx(recorded["Free"], abs=kernels)
    # The two are given in doubles of µs since 1970, which resolve a quarter of a µs.
    assert last - first == pytest.approx(recorded["Stage"], abs=500)
    start = trace.scalar("SELECT ts FROM steps")
    # Ascend's own figure is between the two clocks as they are; here the device's is aligned to the host's.
    shift = sum(
        float(size) * {"ns": 1, "µs": 1_000}[unit] * (1 if way == "later" else -1)
        for row in trace.sql("SELECT effect FROM health WHERE code = 'clocks-aligned'").to_pylist()
        for size, unit, way in re.findall(r"moved ([\d.]+) (\S+) (earlier|later)$", row["effect"])
    )
    assert first - start == pytest.approx(recorded["Preparing"] + shift, abs=500)


@pytest.mark.parametrize(("level", "rank"), TEXT)
def test_overlap_rows_are_the_unions_of_kernels_and_collectives(opened: Any, level: str, rank: int) -> None:
    trace = opened(level, rank)
    recorded = {
        (r["subject"], r["metric"]): r["value"]
        for r in trace.sql("SELECT subject, metric, value FROM recorded WHERE source = 'overlap'").to_pylist()
    }
    compute, comm = _union(trace, "'compute'"), _union(trace, "'comm'")
    for name, intervals in (
        ("Computing", compute),
        ("Communication", comm),
        ("Communication(Not Overlapped)", comm - compute),
    ):
        assert intervals.total == pytest.approx(recorded[name, "Duration(ns)"], abs=200 * HALF_NS), name
    kernels = trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute'")
    assert kernels == recorded["Computing", "Count"] == 187


def _operators(trace: Trace) -> list[dict[str, Any]]:
    """Host and device times of every operator, in the order of time, from `events` and `kernels` alone."""
    events = trace.sql(
        "SELECT e.id, e.name, e.dur, e.category, e.parent FROM events e JOIN tracks USING (track) "
        "WHERE kind = 'host' ORDER BY e.ts, e.dur DESC, e.id"
    ).to_pylist()
    by_id = {event["id"]: event for event in events}

    def is_operator(event: dict[str, Any]) -> bool:
        return event["category"] in ("op", "dataloader")

    def around(event: dict[str, Any]) -> int | None:
        parent = event["parent"]
        while parent is not None and not is_operator(by_id[parent]):
            parent = by_id[parent]["parent"]
        return parent

    children: dict[int, int] = defaultdict(int)
    for event in events:
        outer = around(event) if is_operator(event) else None
        if outer is not None:
            children[outer] += event["dur"]
    own: dict[int, int] = defaultdict(int)
    total: dict[int, int] = defaultdict(int)
    for kernel in trace.sql("SELECT op, dur FROM kernels WHERE kind <> 'sync' AND op IS NOT NULL").to_pylist():
        own[kernel["op"]] += kernel["dur"]
        outer = kernel["op"]
        while outer is not None:
            total[outer] += kernel["dur"]
            outer = around(by_id[outer])
    return [
        {**e, "host_self": e["dur"] - children[e["id"]], "self": own[e["id"]], "total": total[e["id"]]}
        for e in events
        if is_operator(e)
    ]


@pytest.mark.parametrize(("level", "rank"), TEXT)
def test_operators_agree_with_operator_details(opened: Any, level: str, rank: int) -> None:
    """All 859 operators, in order, with four times each.

    Five kernels that prepare a ReduceSum have no flow from an operator in the trace, and the profiler leaves them out
    of every operator. Here they belong to the operator that put them on the queue, and so to all operators around it.
    """
    recorded = _rows(level, rank, "operator_details")
    found = _operators(opened(level, rank))
    assert [row["Name"] for row in recorded] == [operator["name"] for operator in found]
    more = []
    for row, operator in zip(recorded, found, strict=True):
        assert operator["dur"] == pytest.approx(_ns(row["Host Total Duration(us)"]), abs=0.01)
        assert operator["host_self"] == pytest.approx(_ns(row["Host Self Duration(us)"]), abs=0.01)
        if operator["total"] == pytest.approx(_ns(row["Device Total Duration(us)"]), abs=10):
            assert operator["self"] == pytest.approx(_ns(row["Device Self Duration(us)"]), abs=10)
        else:
            assert operator["total"] - _ns(row["Device Total Duration(us)"]) < 4000
            more.append(operator["name"])
    assert more.count("ReduceSum") == 5
    assert set(more) == {
        "ReduceSum",
        "aten::convolution_backward",
        "ConvolutionBackward0",
        "autograd::engine::evaluate_function: ConvolutionBackward0",
    }


@pytest.mark.parametrize(("level", "rank"), LEVEL1)
def test_kernels_by_type_and_core_agree_with_op_statistic(opened: Any, level: str, rank: int) -> None:
    trace = opened(level, rank)
    found = {
        (r["op_type"], r["core"]): r
        for r in trace.sql(
            "SELECT op_type, core, count(*) AS n, sum(dur)::BIGINT AS total, min(dur) AS low, max(dur) AS high "
            "FROM kernels WHERE kind = 'compute' GROUP BY ALL"
        ).to_pylist()
    }
    recorded = _rows(level, rank, "op_statistic")
    assert len(recorded) == len(found) == 33
    for row in recorded:
        mine = found[row["OP Type"], row["Core Type"]]
        assert mine["n"] == int(row["Count"])
        # Every number of the file is rounded to a ns on its own.
        assert mine["total"] == pytest.approx(_ns(row["Total Time(us)"]), abs=1 + mine["n"])
        assert mine["low"] == pytest.approx(_ns(row["Min Time(us)"]), abs=1)
        assert mine["high"] == pytest.approx(_ns(row["Max Time(us)"]), abs=1)


@pytest.mark.parametrize(("level", "rank"), TEXT)
def test_kernels_agree_with_kernel_details(opened: Any, level: str, rank: int) -> None:
    recorded = _rows(level, rank, "kernel_details")
    found = (
        opened(level, rank)
        .sql(
            "SELECT name, ts, dur, greatest(0, ts - lag(ts + dur, 1, ts) OVER (ORDER BY ts, event)) AS wait "
            "FROM kernels WHERE kind IN ('compute', 'comm') ORDER BY ts, event"
        )
        .to_pylist()
    )
    assert [row["Name"] for row in recorded] == [kernel["name"] for kernel in found]
    for row, kernel in zip(recorded, found, strict=True):
        assert kernel["dur"] == pytest.approx(_ns(row["Duration(us)"]), abs=1)
        assert kernel["wait"] == pytest.approx(_ns(row["Wait Time(us)"]), abs=2)


@pytest.mark.parametrize(("level", "rank"), LEVEL1)
def test_counters_of_kernels_are_those_of_kernel_details(opened: Any, level: str, rank: int) -> None:
    trace = opened(level, rank)
    rows = trace.sql(
        "SELECT k.name, m.metric, m.value FROM kernel_metrics m JOIN kernels k ON k.event = m.event ORDER BY k.ts"
    ).to_pylist()
    found = {(row["name"], row["metric"]): row["value"] for row in rows}
    for row in _rows(level, rank, "kernel_details"):
        if row["Name"] in ("Conv2D1", "trans_TransData_0"):
            assert found[row["Name"], "aic_total_time"] == pytest.approx(_ns(row["aicore_time(us)"]))
            assert found[row["Name"], "aiv_vec_time"] == pytest.approx(_ns(row["aiv_vec_time(us)"]))
            assert found[row["Name"], "aic_mac_ratio"] == float(row["aic_mac_ratio"])
            assert found[row["Name"], "cube_utilization"] == pytest.approx(float(row["cube_utilization(%)"]) / 100)
    victims = {name: value for (name, metric), value in found.items() if metric == "l2_victim_rate"}
    assert victims["Conv2D1"] == next(
        float(row["Victim Rate"]) for row in _rows(level, rank, "l2_cache") if row["Op Name"] == "Conv2D1"
    )


@pytest.mark.parametrize(("level", "rank"), LEVEL1)
def test_parts_of_collectives_agree_with_communication_json(opened: Any, level: str, rank: int) -> None:
    """Times are those of plane 1, sizes those of all planes; sums of n parts differ by up to n/2 ns."""
    trace = opened(level, rank)
    parts = trace.sql(
        "SELECT k.name, t.kind, t.plane, t.link, t.bytes, e.ts, e.dur, k.dur AS elapse FROM comm_tasks t "
        "JOIN events e ON e.id = t.event JOIN kernels k ON k.event = t.collective"
    ).to_pylist()
    path = _folder(level, rank) / "ASCEND_PROFILER_OUTPUT" / "communication.json"
    [step] = json.loads(path.read_text()).values()
    operations = {name.split("@")[0]: value for name, value in step["collective"].items() if "@" in name}
    assert len(operations) == 4
    for name, value in operations.items():
        mine = [part for part in parts if part["name"] == name]
        master = [part for part in mine if part["plane"] == 1]
        moves = [p for p in master if p["kind"] in ("copy", "reduce") and p["link"] != "ON_CHIP"]
        waits = [p for p in master if p["kind"] == "wait"]
        first = min(p["ts"] for p in moves)
        times = {key: number * 1e6 for key, number in value["Communication Time Info"].items() if "(ms)" in key}
        transit, wait = sum(p["dur"] for p in moves), sum(p["dur"] for p in waits)
        early = sum(p["dur"] for p in waits if p["ts"] < first)
        assert mine[0]["elapse"] == pytest.approx(times["Elapse Time(ms)"], abs=1)
        assert transit == pytest.approx(times["Transit Time(ms)"], abs=len(moves))
        assert wait == pytest.approx(times["Wait Time(ms)"], abs=len(waits))
        assert early == pytest.approx(times["Synchronization Time(ms)"], abs=len(waits))
        idle = mine[0]["elapse"] - transit - wait
        assert idle == pytest.approx(times["Idle Time(ms)"], abs=len(master))
        links = [p for p in mine if p["kind"] in ("copy", "reduce") and p["link"] == "HCCS"]
        hccs = value["Communication Bandwidth Info"]["HCCS"]
        assert sum(p["bytes"] for p in links) == pytest.approx(hccs["Transit Size(MB)"] * 1e6)
        assert sum(p["dur"] for p in links) == pytest.approx(hccs["Transit Time(ms)"] * 1e6, abs=len(links))
        sizes: dict[float, int] = defaultdict(int)
        for part in links:
            sizes[part["bytes"] / 1e6] += 1
        assert sizes == {float(size): count for size, (count, _) in hccs["Size Distribution"].items()}


@pytest.mark.parametrize(("level", "rank"), TEXT)
def test_memory_agrees_with_operator_memory_and_memory_record(opened: Any, level: str, rank: int) -> None:
    trace = opened(level, rank)
    rows = _rows(level, rank, "operator_memory")
    taken = trace.sql("SELECT bytes FROM memory WHERE bytes > 0 ORDER BY address").to_pydict()["bytes"]
    assert taken == [round(float(row["Size(KB)"]) * 1024) for row in rows]
    freed = trace.scalar("SELECT count(*) FROM memory WHERE bytes < 0")
    assert freed == sum(row["Release Time(us)"] != "" for row in rows)
    records = _rows(level, rank, "memory_record")
    for component in ("PTA", "GE", "PTA+GE", "APP"):
        peak = max(float(r["Total Reserved(MB)"]) for r in records if r["Component"] == component)
        found = trace.scalar(f"SELECT max(value) FROM counters WHERE name = '{component} reserved'")
        assert found == pytest.approx(peak * 2**20, abs=1)


@pytest.mark.parametrize(("level", "rank"), LEVEL1)
def test_calls_of_cann_agree_with_api_statistic(opened: Any, level: str, rank: int) -> None:
    trace = opened(level, rank)
    found = {
        r["name"]: (r["n"], r["total"])
        for r in trace.sql(
            "SELECT name, count(*) AS n, sum(dur)::BIGINT AS total FROM events "
            "WHERE json_extract_string(args, '$.level') IS NOT NULL GROUP BY 1"
        ).to_pylist()
    }
    compared = 0
    for row in _rows(level, rank, "api_statistic"):
        name = {"node": "Node@{}", "hccl": "Hccl@{}", "model": "Model@{}"}.get(row["Level"], "{}").format(
            row["API Name"]
        )
        # The trace has the calls of the recorded steps, the file those of the whole recording.
        if found.get(name, (0,))[0] == int(row["Count"]):
            compared += 1
            assert found[name][1] == pytest.approx(_ns(row["Time(us)"]), abs=20)
    assert compared >= 50
