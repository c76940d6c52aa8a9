"""Tables of links and static memory, what a program adds to its recording, and tables that nobody knows."""

from __future__ import annotations

import json
from pathlib import Path

from bench.damage.small_ascend import at, write_csv, write_text

from readers.conformance import open_fresh
from stepscope.readers.ascend.info import attributes


def test_samples_of_links_are_counters_and_sums_are_recorded(tmp_path: Path) -> None:
    output = write_text(tmp_path / "x_ascend_pt")
    nic = {"Device_id": "3", "Timestamp(us)": at(5) + "\t", "Rx Bandwidth(MB/s)": "12.5", "State": "up", "funcId": "1"}
    broken = {**nic, "Timestamp(us)": at(6), "Rx Bandwidth(MB/s)": "x"}
    write_csv(output / "nic.csv", [nic, broken, {**nic, "Timestamp(us)": at(7)}])
    write_csv(output / "hccs_20260101000000.csv", [{"Device_id": "3", "Mode": "Tx(MB/s)", "Max": "9.5", "Min": "1"}])
    size = {"Device_id": "3", "Op Name": "Conv2D", "Model Name": "net", "Graph ID": "1", "Size(KB)": "64"}
    ends = {**size, "Op Name": "Add", "Node Index Start": "7", "Node Index End": "4294967295"}
    write_csv(output / "static_op_mem.csv", [ends, size, {**size, "Op Name": "TOTAL", "Size(KB)": "128"}])
    write_csv(output / "something_new.csv", [{"What": "1"}])
    with open_fresh(tmp_path) as trace:
        counters = trace.rows("SELECT name, value FROM counters WHERE name LIKE 'Rx%'")
        recorded = trace.rows(
            "SELECT source, subject, metric, value FROM recorded WHERE source IN ('hccs', 'static_memory') ORDER BY ALL"
        )
        lines = {row["code"]: row["message"] for row in trace.rows("SELECT code, message FROM health")}
    assert counters == [{"name": "Rx Bandwidth(MB/s) 1", "value": 12.5}] * 2
    assert [tuple(row.values()) for row in recorded] == [
        ("hccs", "Tx(MB/s)", "Max", 9.5), ("hccs", "Tx(MB/s)", "Min", 1.0),
        ("static_memory", "1|net|7||Add", "bytes", 65536.0), ("static_memory", "1|net|||Conv2D", "bytes", 65536.0),
    ]  # fmt: skip
    assert lines["files-unknown"] == "tables of unknown kinds: something_new.csv"
    assert "nic.csv" in lines["cells-unreadable"]


def test_what_a_program_adds_to_its_recording_is_an_attribute(tmp_path: Path) -> None:
    output = write_text(tmp_path / "x_ascend_pt")
    path = output.parent / "profiler_metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "run": "try 7", "sizes": [1, 2]}))
    with open_fresh(tmp_path) as trace:
        [recording] = trace.recordings.values()
        lines = {row["code"]: row["message"] for row in trace.rows("SELECT code, message FROM health")}
    added = {key: value for key, value in recording.attributes.items() if key.startswith("metadata.")}
    assert added == {"metadata.run": "try 7", "metadata.sizes": "[1, 2]"}
    assert lines["metadata-added"] == "the program noted: run = try 7; sizes = [1, 2]"


def test_sizes_of_parallelism_that_a_program_noted_are_used() -> None:
    noted = {
        "tp": "8", "Pipeline-Parallel_size": 4, "args": {"cp_size": 2, "data_parallel_degree": "2", "ep": "N/A"},
        "data_size": 5, "dp_group": 3, "tp_overlap": 1, "ENV_VARIABLES": {"pp": 9},
    }  # fmt: skip
    told = {key: value for key, value in attributes({}, noted).items() if key.startswith("parallel.")}
    assert told == {
        "parallel.tensor_model_parallel_size": 8, "parallel.pipeline_model_parallel_size": 4,
        "parallel.context_parallel_size": 2, "parallel.data_parallel_size": 2,
    }  # fmt: skip
    recorded = attributes({}, {"distributed_args": {"tensor_model_parallel_size": "2", "sequence_parallel": True}})
    assert recorded == {"distributed.tensor_model_parallel_size": 2, "distributed.sequence_parallel": True}
