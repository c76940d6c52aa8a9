"""Exports, and above all: what goes out as a Chrome trace comes in again as it was."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from series import series
from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace
from stepscope.reports.exports import chrome, folded, parquet
from stepscope.reports.exports.lanes import lanes
from support import Facts, recorded_trace, shared_traces

EVENTS = (
    "SELECT name, ts, dur, category, correlation, external_id, kind "
    "FROM events JOIN tracks USING (rank, track) ORDER BY ALL"
)
RECORDINGS = sorted(p.name for p in (shared_traces() / "kineto").iterdir()) if shared_traces() else ["absent"]


def again(trace: Trace, folder: Path) -> Trace:
    path = folder / "exported.json"
    path.write_text("".join(chrome.lines([trace])), encoding="utf-8")
    return open_trace(path, Options(cache=False))


def busy() -> Facts:
    facts = Facts()
    facts.step(3, 0, 1000)
    facts.host("annotation", "train", 0, 900, args={"x": 'quote " and \\ and \n'})
    facts.host("op", "aten::mm", 10, 100, external_id=5, args={"External id": 5, "Input Dims": [[2, 3]]})
    facts.host("python", "model.py(1): forward", 5, 500, thread="2")
    facts.host("module", "nn.Module: Linear_0", 6, 400, thread="2")
    facts.host("gc", "gc.collect", 700, 10)
    facts.host("other", "mark", 750, None)
    facts.kernel("gemm", 50, 100, launch=(20, 5))
    facts.kernel("overlapping", 120, 100, launch=(30, 5))
    facts.kernel("ncclDevKernel_AllReduce_Sum", 130, 50, launch=(40, 5), kind="comm", stream="20")
    facts.kernel("Memcpy HtoD (Pageable -> Device)", 300, 7, launch=(60, 5), kind="copy")
    return facts


def test_exact_times_places_and_flows(tmp_path: Path) -> None:
    document = json.loads("".join(chrome.lines([busy().trace(rank=1, world_size=4)])), parse_float=str)
    events = {e["name"]: e for e in document["traceEvents"] if e["ph"] in "Xi"}
    assert (events["gemm"]["ts"], events["gemm"]["dur"]) == ("0.050", "0.100")
    assert events["aten::mm"]["args"] == {"External id": 5, "Input Dims": [[2, 3]]}
    assert events["mark"]["ph"] == "i"
    assert events["gemm"]["tid"] == 7
    assert events["overlapping"]["tid"] != 7
    names = {e["args"]["name"] for e in document["traceEvents"] if e["name"] == "thread_name"}
    assert {"device 0 stream 7", "device 0 stream 7 (2)"} <= names
    starts = {e["id"]: e for e in document["traceEvents"] if e["ph"] == "s"}
    ends = {e["id"]: e for e in document["traceEvents"] if e["ph"] == "f"}
    assert set(starts) == set(ends)
    assert {e["cat"] for e in starts.values()} == {"ac2g"}
    assert document["distributedInfo"] == {"rank": 1, "world_size": 4}
    del tmp_path


def test_a_small_trace_comes_back_as_it_was(tmp_path: Path) -> None:
    trace = busy().trace()
    assert again(trace, tmp_path).sql(EVENTS).equals(trace.sql(EVENTS))


@pytest.mark.parametrize("name", series(RECORDINGS, 4))
def test_real_recordings_come_back_as_they_were(name: str, tmp_path: Path) -> None:
    with recorded_trace("kineto", name) as whole:
        trace = whole.rank(whole.ranks[0])
        back = again(trace, tmp_path)
        assert back.sql(EVENTS).equals(trace.sql(EVENTS))
        for table in ("kernels", "collectives", "copies", "memory", "flows", "op_inputs", "steps", "devices"):
            count = f"SELECT count(*) FROM {table}"
            assert back.scalar(count) == trace.scalar(count), table


def test_several_ranks_share_a_file_without_clashes() -> None:
    traces = [busy().trace(rank=rank) for rank in (0, 1)]
    document = json.loads("".join(chrome.lines(traces)))
    processes = {e["pid"]: e["args"]["name"] for e in document["traceEvents"] if e["name"] == "process_name"}
    assert sorted(processes.values()) == [
        "rank 0 device 0", "rank 0 process 1", "rank 1 device 0", "rank 1 process 1",
    ]  # fmt: skip
    ids = [e["id"] for e in document["traceEvents"] if e["ph"] == "s"]
    assert len(ids) == len(set(ids)) == 8


intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.booleans()), max_size=30)


@given(intervals)
def test_on_a_lane_events_are_disjoint_or_held(rows: list[tuple[int, int, bool]]) -> None:
    ts = np.array([r[0] for r in rows], np.int64)
    end = ts + np.array([r[1] for r in rows], np.int64)
    holds = np.array([r[2] for r in rows], np.bool_)
    lane = lanes(ts, end, holds)
    for i in range(len(rows)):
        for j in range(i):
            if lane[i] != lane[j] or ts[i] == end[i] or ts[j] == end[j]:
                continue
            apart = end[i] <= ts[j] or end[j] <= ts[i]
            i_in_j = holds[j] and ts[j] <= ts[i] and end[i] <= end[j]
            j_in_i = holds[i] and ts[i] <= ts[j] and end[j] <= end[i]
            assert apart or i_in_j or j_in_i


def test_folded_stacks_of_the_device_lie_below_their_launch() -> None:
    facts = Facts()
    facts.host("op", "aten::linear", 0, 100)
    facts.host("op", "aten::mm;x", 10, 50)
    facts.kernel("gemm", 200, 30, launch=(20, 5))
    facts.kernel("gemm", 300, 12, launch=(30, 5))
    facts.kernel("stray", 400, 5)
    assert sorted(folded.lines(facts.trace(), "device")) == [
        "aten::linear;aten::mm:x;cudaLaunchKernel;gemm 42\n",
        "stray 5\n",
    ]


def test_folded_stacks_of_the_host_add_up_to_its_time() -> None:
    facts = Facts()
    facts.host("op", "outer", 0, 100)
    facts.host("op", "inner", 10, 30)
    facts.host("op", "inner", 50, 20)
    facts.host("op", "leaf", 55, 5)
    lines = sorted(folded.lines(facts.trace(), "host"))
    assert lines == ["outer 50\n", "outer;inner 45\n", "outer;inner;leaf 5\n"]


def test_folded_host_time_is_all_of_it_on_a_real_recording() -> None:
    with recorded_trace("kineto", "h100_qwen05b_infer", "trace.json.gz") as trace:
        total = sum(int(line.rsplit(" ", 1)[1]) for line in folded.lines(trace, "device"))
        assert total == trace.scalar("SELECT sum(dur) FROM kernels WHERE kind <> 'sync'")


@pytest.mark.parametrize(
    ("keep", "names"),
    [
        (Filter(), {"early", "long", "late"}),
        (Filter(since=500), {"long", "late"}),
        (Filter(until=500), {"early", "long"}),
        (Filter(since=40, until=60), {"long"}),
        (Filter(categories=("kernel",)), set()),
        (Filter(steps=()), set()),
    ],
)
def test_filters(keep: Filter, names: set[str]) -> None:
    facts = Facts()
    facts.host("op", "early", 0, 40)
    facts.host("op", "long", 0, 1000)
    facts.host("op", "late", 900, 50)
    cut = narrowed(facts.trace(), keep)
    assert set(cut.sql("SELECT name FROM events").column(0).to_pylist()) == names


def test_parquet_holds_every_table(tmp_path: Path) -> None:
    from stepscope.model.tables import TABLES

    parquet.write([busy().trace(rank=0), busy().trace(rank=1)], tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {f"{table.name}.parquet" for table in TABLES} | {"export.json"}
    kernels = pq.read_table(tmp_path / "kernels.parquet")
    assert kernels.column("rank").to_pylist() == [0] * 4 + [1] * 4
