"""The files of a simulated Ascend folder agree with each other as those of a real one do.

Each file is computed anew from others, as the profiler computes it, without the reader.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise

import pytest

from stepscope.simulate import SimJob, simulate

JOBS = {
    "ddp": SimJob(device="ascend910b2", ranks=3, hidden=256, layers=3, steps=2, slow_rank=1, noise=0.1),
    "fsdp": SimJob(device="ascend910b3", ranks=2, parallel="fsdp", hidden=128, steps=2, profiler_level=2),
    "stacks": SimJob(device="ascend910b2", with_stack=True, hidden=64, attention="math", steps=2, profiler_level=0),
    "images": SimJob(device="ascend910b2", model="convnet", layers=2, hidden=16, image=32, steps=1, copy_stream=True),
    "graph": SimJob(device="ascend910b2", graph=True, hidden=64, steps=2, items_per_step=1),
}
CORES = {"aic": ("AI_CORE", "MIX_AIC"), "aiv": ("AI_VECTOR_CORE", "MIX_AIV", "MIX_AIC")}


def ns(text):
    """Microseconds as written, in whole ns."""
    value = Decimal(str(text).strip()) * 1000
    assert value == int(value)
    return int(value)


class Written:
    """One rank's files."""

    def __init__(self, folder):
        self.output = folder / "ASCEND_PROFILER_OUTPUT"
        self.level = json.loads(next(folder.glob("profiler_info*.json")).read_text())["config"]["experimental_config"]
        self.events = json.loads((self.output / "trace_view.json").read_text(), parse_float=Decimal)
        names = {e["pid"]: e["args"]["name"] for e in self.events if e["name"] == "process_name"}
        self.rows = defaultdict(list)
        for e in self.events:
            if e["ph"] == "X":
                self.rows[names.get(e["pid"], "CANN")].append(e)

    def table(self, name):
        with (self.output / f"{name}.csv").open(newline="") as file:
            return [{k: v.strip() for k, v in row.items()} for row in csv.DictReader(file)]

    def work(self, kinds):
        """Start, end and name of kernels (``compute``), copies (``copy``) and collectives (``comm``) in the trace."""
        found = []
        for e in self.rows["Ascend Hardware"]:
            kind = e["args"]["Task Type"]
            copied = e["name"] == "MEMCPY_ASYNC"
            if ("copy" if copied else "compute" if kind.startswith(("AI_", "MIX_")) else "") in kinds:
                found.append(e)
        if "comm" in kinds:
            found += [e for e in self.rows["HCCL"] if e["name"].startswith("hcom_")]
        return sorted(found, key=lambda e: ns(e["ts"]))


@pytest.fixture(scope="module", params=JOBS)
def ranks(request, tmp_path_factory):
    paths = simulate(JOBS[request.param], tmp_path_factory.mktemp(request.param) / "run", "ascend")
    return [Written(path) for path in paths]


def spans(events):
    return [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events]


def merged(intervals):
    out = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1][1] = max(end, out[-1][1])
        else:
            out.append([start, end])
    return [tuple(interval) for interval in out if interval[1] > interval[0]]


def without(intervals, others):
    out = []
    for left, right in merged(intervals):
        for start, stop in merged(others):
            if stop <= left or start >= right:
                continue
            if start > left:
                out.append((left, start))
            left = max(left, stop)
        if left < right:
            out.append((left, right))
    return out


def test_rows_of_kernel_details_are_events_of_the_trace(ranks):
    for written in ranks:
        events = written.work({"compute", "comm"})
        rows = written.table("kernel_details")
        assert [row["Name"] for row in rows] == [e["name"] for e in events]
        end = 0
        for row, event in zip(rows, events, strict=True):
            assert ns(row["Start Time(us)"]) == ns(event["ts"])
            assert ns(row["Duration(us)"]) == ns(event["dur"])
            assert ns(row["Wait Time(us)"]) == (max(0, ns(event["ts"]) - end) if end else 0)
            end = ns(event["ts"]) + ns(event["dur"])


def test_overlap_rows_are_unions_of_kernels_and_collectives(ranks):
    for written in ranks:
        compute, comm = (spans(written.work({kind})) for kind in ("compute", "comm"))
        busy = merged(compute + comm)
        expected = {
            "Computing": merged(compute),
            "Communication": merged(comm),
            "Communication(Not Overlapped)": without(comm, compute),
            "Free": [(end, start) for (_, end), (start, _) in pairwise(busy)],
        }
        found = defaultdict(list)
        for event in written.rows["Overlap Analysis"]:
            found[event["name"]].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])))
        assert found == {name: intervals for name, intervals in expected.items() if intervals}


def test_step_times_are_sums_of_overlap_rows(ranks):
    for written in ranks:
        host = {e["name"]: e for e in written.rows["Python"] if e["name"].startswith("ProfilerStep#")}
        rows = written.table("step_trace_time")
        assert [f"ProfilerStep#{row['Step']}" for row in rows] == list(host)
        for row in rows:
            listed = [r for r in written.table("kernel_details") if r["Step Id"] == row["Step"]]
            first = min(ns(r["Start Time(us)"]) for r in listed)
            last = max(ns(r["Start Time(us)"]) for r in listed)
            sums = defaultdict(int)
            edges = []
            for event in written.rows["Overlap Analysis"]:
                start, length = ns(event["ts"]), ns(event["dur"])
                # Rows start and end with kernels, so that all that start between the first and the last are inside.
                if first <= start <= last or (start > last and event["name"] == "Free" and row is rows[-1]):
                    sums[event["name"]] += length
                    edges += [start, start + length]
            assert ns(row["Computing"]) == sums["Computing"]
            assert ns(row["Communication"]) == sums["Communication"]
            exposed = sums["Communication(Not Overlapped)"]
            assert ns(row["Communication(Not Overlapped)"]) == exposed
            assert ns(row["Communication(Not Overlapped and Exclude Receive)"]) == exposed
            assert ns(row["Overlapped"]) == sums["Communication"] - exposed
            begun = ns(host[f"ProfilerStep#{row['Step']}"]["ts"])
            assert ns(row["Preparing"]) == first - begun
            assert ns(row["Stage"]) >= sums["Computing"] + exposed


def operator_tree(written):
    """Operators in the order of time, with the ones around them and the time of those directly inside."""
    operators = [e for e in written.rows["Python"] if e["cat"] == "cpu_op"]
    operators.sort(key=lambda e: (ns(e["ts"]), -ns(e["dur"])))
    around, inner, open_ = {}, defaultdict(int), defaultdict(list)
    for i, e in enumerate(operators):
        stack = open_[e["tid"]]
        end = ns(e["ts"]) + ns(e["dur"])
        while stack and ns(operators[stack[-1]]["ts"]) + ns(operators[stack[-1]]["dur"]) < end:
            stack.pop()
        if stack:
            around[i] = stack[-1]
            inner[stack[-1]] += ns(e["dur"])
        stack.append(i)
    return operators, around, inner


def test_operator_details_are_the_tree_of_operators_and_their_kernels(ranks):
    for written in ranks:
        operators, around, inner = operator_tree(written)
        innermost = {}
        for i, e in enumerate(operators):
            innermost[e["tid"], e["ts"]] = i
        starts = {e["id"]: e for e in written.events if e.get("cat") == "async_npu" and e["ph"] == "s"}
        own, total, core = defaultdict(int), defaultdict(int), defaultdict(int)
        for event in written.work({"compute", "copy", "comm"}):
            flow = starts.get(ns(event["ts"]))
            if flow is None:
                continue
            i = innermost[flow["tid"], flow["ts"]]
            own[i] += ns(event["dur"])
            while i is not None:
                total[i] += ns(event["dur"])
                if event["args"].get("Task Type") == "AI_CORE":
                    core[i] += ns(event["dur"])
                i = around.get(i)
        shown = [(i, e) for i, e in enumerate(operators) if not e["name"].startswith("ProfilerStep#")]
        rows = written.table("operator_details")
        assert [row["Name"] for row in rows] == [e["name"] for _, e in shown]
        for row, (i, e) in zip(rows, shown, strict=True):
            assert ns(row["Host Total Duration(us)"]) == ns(e["dur"])
            assert ns(row["Host Self Duration(us)"]) == ns(e["dur"]) - inner[i]
            assert ns(row["Device Self Duration(us)"]) == own[i]
            assert ns(row["Device Total Duration(us)"]) == total[i]
            assert ns(row["Device Total Duration With AICore(us)"]) == core[i]
            assert row["Call Stack"].replace("\n", "") == e["args"].get("Call stack", "").replace("\r\n", "")
        assert sum(own.values()) > 0


def test_op_statistic_sums_up_kernel_details(ranks):
    for written in ranks:
        if written.level["_profiler_level"] == "Level0":
            continue
        sums = defaultdict(list)
        for row in written.table("kernel_details"):
            if row["Accelerator Core"] != "HCCL":
                sums[row["Type"], row["Accelerator Core"]].append(ns(row["Duration(us)"]))
        rows = written.table("op_statistic")
        assert {(row["OP Type"], row["Core Type"]) for row in rows} == sums.keys()
        totals = [float(row["Total Time(us)"]) for row in rows]
        assert totals == sorted(totals, reverse=True)
        for row in rows:
            times = sums[row["OP Type"], row["Core Type"]]
            assert int(row["Count"]) == len(times)
            assert ns(row["Total Time(us)"]) == sum(times)
            assert (ns(row["Min Time(us)"]), ns(row["Max Time(us)"])) == (min(times), max(times))


def test_api_statistic_sums_up_the_calls_of_cann(ranks):
    for written in ranks:
        if written.level["_profiler_level"] == "Level0":
            assert not written.rows["CANN"]
            continue
        sums = defaultdict(list)
        for e in written.rows["CANN"]:
            sums[e["args"]["level"], e["name"].split("@")[1]].append(ns(e["dur"]))
        rows = written.table("api_statistic")
        assert {(row["Level"], row["API Name"]): (int(row["Count"]), ns(row["Time(us)"])) for row in rows} == {
            key: (len(times), sum(times)) for key, times in sums.items()
        }
        assert ("runtime" in {level for level, _ in sums}) == (written.level["_profiler_level"] == "Level2")


def test_communication_sums_up_the_planes(ranks):
    seen = 0
    for written in ranks:
        path = written.output / "communication.json"
        if not path.is_file():
            continue
        steps = json.loads(path.read_text())
        listed = {k.split("@")[0]: v for step in steps.values() for k, v in step["collective"].items() if "@" in k}
        for e in [e for e in written.rows["HCCL"] if e["name"].startswith("hcom_")]:
            start, end = ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])
            planes = [p for p in written.rows["HCCL"] if p["tid"]]
            parts = [p for p in planes if start <= ns(p["ts"]) and ns(p["ts"]) + ns(p["dur"]) <= end]
            master = [p for p in parts if p["tid"] == 2]
            moves = [p for p in master if p["args"]["size(Byte)"] and p["args"]["link type"] != "ON_CHIP"]
            waits = [p for p in master if p["name"] == "Notify_Wait"]
            first = min(ns(p["ts"]) for p in moves)
            times = {k: round(v * 1e6) for k, v in listed[e["name"]]["Communication Time Info"].items() if "(ms)" in k}
            transit, wait = (sum(ns(p["dur"]) for p in some) for some in (moves, waits))
            assert times == {
                "Elapse Time(ms)": end - start,
                "Transit Time(ms)": transit,
                "Wait Time(ms)": wait,
                "Synchronization Time(ms)": sum(ns(p["dur"]) for p in waits if ns(p["ts"]) < first),
                "Idle Time(ms)": end - start - transit - wait,
            }
            hccs = listed[e["name"]]["Communication Bandwidth Info"]["HCCS"]
            links = [p for p in parts if p["args"]["link type"] == "HCCS"]
            assert hccs["Transit Size(MB)"] == pytest.approx(sum(p["args"]["size(Byte)"] for p in links) / 1e6)
            assert hccs["Transit Time(ms)"] == pytest.approx(sum(ns(p["dur"]) for p in links) / 1e6)
            assert sum(count for count, _ in hccs["Size Distribution"].values()) == len(links)
            seen += 1
        for step in steps.values():
            operations = [v for k, v in step["collective"].items() if k != "Total Op Info"]
            total = step["collective"]["Total Op Info"]["Communication Time Info"]
            for key in ("Elapse Time(ms)", "Wait Time(ms)"):
                assert total[key] == pytest.approx(sum(v["Communication Time Info"][key] for v in operations))
    assert seen or all(not (w.output / "communication.json").exists() for w in ranks)


def test_counters_of_the_cores_fit_the_kernels(ranks):
    clocks = set()
    for written in ranks:
        if written.level["_profiler_level"] == "Level0":
            continue
        [clock] = {e["args"]["MHz"] for e in written.events if e["name"] == "AI Core Freq" and e["ph"] == "C"}
        clocks.add(clock)
        for row in written.table("kernel_details"):
            kind, spent = row["Accelerator Core"], ns(row["Duration(us)"])
            if kind == "HCCL":
                assert row["aicore_time(us)"] == "N/A"
                continue
            for prefix, whole in (("aic", "aicore_time(us)"), ("aiv", "aiv_time(us)")):
                busy = ns(row[whole])
                assert busy <= spent
                assert (busy > 0) == (kind in CORES[prefix])
                for column, value in row.items():
                    if column.startswith(prefix + "_") and column.endswith("_ratio"):
                        part = ns(row[column.replace("_ratio", "_time(us)")])
                        assert part <= busy
                        assert float(value) == pytest.approx(part / busy if busy else 0, abs=5e-4)
            if kind in ("AI_CORE", "AI_VECTOR_CORE"):
                busy = ns(row["aicore_time(us)"]) + ns(row["aiv_time(us)"])
                cycles = int(row["aic_total_cycles"]) + int(row["aiv_total_cycles"])
                assert cycles == busy * clock // 1000 * int(row["Block Dim"])
            assert 1 <= int(row["Block Dim"]) <= 48
    # One rank of three is half again as slow: so is its clock.
    assert clocks in (set(), {1800}, {1800, 1200})
    assert len(ranks) < 3 or clocks == {1800, 1200}


def test_flows_have_two_ends(ranks):
    for written in ranks:
        ends = defaultdict(lambda: defaultdict(list))
        for e in written.events:
            if e["ph"] in "sf":
                ends[e["cat"]][e["id"]].append(e["ph"])
        assert {"async_npu", "async_task_queue", "HostToDevice"} <= ends.keys()
        for cat, keys in ends.items():
            for key, found in keys.items():
                # Kernels that start in the same ns on two streams share their number, as in real recordings; kernels
                # of a graph share their call.
                assert sorted(found) in (["f", "s"], ["f", "f", "s", "s"], ["f"] * (len(found) - 1) + ["s"]), (cat, key)
                assert len(found) > 1


def test_allocations_add_up_to_the_totals(ranks):
    for written in ranks:
        totals = [r for r in written.table("memory_record") if r["Component"] == "PTA"]
        held = {ns(r["Timestamp(us)"]): float(r["Total Allocated(MB)"]) for r in totals}
        last = 0
        for row in written.table("operator_memory"):
            start = ns(row["Allocation Time(us)"])
            assert start >= last
            last = start
            if row["Release Time(us)"]:
                end = ns(row["Release Time(us)"])
                assert end - start == ns(row["Duration(us)"]) == ns(row["Active Duration(us)"])
                assert end in held
            assert start in held
        assert all(ns(a["Timestamp(us)"]) <= ns(b["Timestamp(us)"]) for a, b in pairwise(totals))


def test_shapes_are_quoted_twice(tmp_path):
    path = simulate(JOBS["images"], tmp_path / "run", "ascend")[0]
    text = (path / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").read_text()
    assert '"""8,3,32,32;16,3,7,7""",DT_BF16;DT_BF16,NCHW;NCHW,"""8,16,16,16""",DT_BF16,NCHW,N/A,' in text
