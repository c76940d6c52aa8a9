"""Tasks of streams that are no kernels, cores by other names, and several devices in one trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.damage.small_ascend import COMM, HARDWARE, at, kernel_rows, named, span, trace_events, write_csv, write_text

from readers.conformance import check_invariants, open_fresh
from stepscope.readers.ascend.vocabulary import device_kind


@pytest.mark.parametrize(
    ("task_type", "name", "kind"),
    [
        ("MODEL_EXECUTE", "MODEL_EXECUTE", "control"),
        ("PLACE_HOLDER_SQE", "MODEL_MAINTAINCE", "control"),
        ("TASK_TIMEOUT_SET", "TASK_TIMEOUT_SET", "control"),
        ("CAPTURE_WAIT", "CAPTURE_WAIT", "sync"),
        ("MEM_WRITE_VALUE", "MEM_WRITE_VALUE", "sync"),
        ("MsTx", "MsTx", "control"),
        ("KERNEL_AIVEC", "KERNEL_AIVEC", "compute"),
        ("AI_CORE", "my_model_execute_kernel", "compute"),
    ],
)
def test_what_tasks_of_the_runtime_are(task_type: str, name: str, kind: str) -> None:
    assert device_kind(task_type, name) == kind


def test_the_execution_of_a_graph_is_no_kernel(tmp_path: Path) -> None:
    """It lasts as long as all that runs in it: the device was busy all the time."""
    execution = span(HARDWARE, 7, "MODEL_EXECUTE", 150, 800, args={"Task Type": "MODEL_EXECUTE", "Physic Stream Id": 7})
    output = write_text(tmp_path / "x_ascend_pt")
    (output / "trace_view.json").write_text(json.dumps([*trace_events(), execution]))
    with open_fresh(tmp_path) as trace:
        assert trace.scalar("SELECT count(*) FROM kernels WHERE name = 'MODEL_EXECUTE'") == 0
        assert trace.scalar("SELECT category FROM events WHERE name = 'MODEL_EXECUTE'") == "other"
        check_invariants(trace)


def test_cores_are_called_alike_everywhere(tmp_path: Path) -> None:
    output = write_text(tmp_path / "x_ascend_pt")
    first, last = kernel_rows()
    write_csv(output / "kernel_details.csv", [{**first, "Accelerator Core": "KERNEL_AIVEC"}, last])
    with open_fresh(tmp_path) as trace:
        [row] = trace.sql("SELECT core FROM kernels WHERE kind = 'compute'").to_pylist()
        assert row == {"core": "AI_VECTOR_CORE"}


def test_parts_are_of_a_collective_of_their_own_device(tmp_path: Path) -> None:
    """Two devices of one process: their groups have the same numbers."""
    other = COMM + 1
    part = {"task type": "Memcpy", "transport type": "SDMA", "link type": "HCCS", "src rank": 1, "dst rank": 0,
            "size(Byte)": 4096}  # fmt: skip
    second = [
        *named(HARDWARE + 1, "Ascend Hardware", t2="Stream 2"),
        span(HARDWARE + 1, 2, "aclnnMm_MatMulV2", 210, 10, args={"Task Type": "AI_CORE", "Physic Stream Id": 2}),
        *named(other, "HCCL", t0="Group 0 Communication", t1="Plane 0"),
        span(other, 0, "hcom_allReduce__532_5_1", 240, 150, args={"count": 1000, "data_type": "FP16"}),
        span(other, 1, "Memcpy", 280, 40, args=part),
    ]
    path = tmp_path / "msprof_20240101120000.json"
    path.write_text(json.dumps([*trace_events(), *second]))
    with open_fresh(path) as trace:
        found = trace.sql(
            "SELECT t.device, k.device AS collective_of FROM comm_tasks c JOIN events e ON e.id = c.event "
            "JOIN tracks t USING (track) JOIN kernels k ON k.event = c.collective ORDER BY ALL"
        ).to_pylist()
        assert all(row["device"] == row["collective_of"] for row in found)
        assert {row["device"] for row in found} == {3, 4}


def test_tasks_alone_are_kernels(tmp_path: Path) -> None:
    """What `msprof` leaves where it was not asked for more; raw data lie beside it."""
    output = tmp_path / "PROF_000001_2024_ABC" / "mindstudio_profiler_output"
    output.mkdir(parents=True)
    (output.parent / "device_1").mkdir()
    columns = ("Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)", "task_start(us)",
               "task_stop(us)")  # fmt: skip
    tasks = [
        ("N/A", "TASK_TIMEOUT_SET", 0, 90), ("Add_1", "KERNEL_AIVEC", 100, 5.5), ("N/A", "EVENT_WAIT", 106, 3),
        ("hcom_allReduce__532_5_1", "HCCL", 110, 20), ("hcom_allReduce__532_5_1_AivKernel", "KERNEL_AIVEC", 111, 18),
    ]  # fmt: skip
    write_csv(
        output / "task_time_20240101120000.csv",
        [
            dict(zip(columns, ("1", name, kind, "46", "1", f"{dur:.3f}", at(ts) + "\t", at(ts + dur)), strict=True))
            for name, kind, ts, dur in tasks
        ],
    )
    with open_fresh(tmp_path) as trace:
        found = trace.sql("SELECT name, kind, dur, device, stream, core FROM kernels ORDER BY ts").to_pylist()
        assert [tuple(row.values()) for row in found] == [
            ("Add_1", "compute", 5_500, 1, "46", "AI_VECTOR_CORE"), ("EVENT_WAIT", "sync", 3_000, 1, "46", None),
            ("hcom_allReduce__532_5_1", "comm", 20_000, 1, "group 0", None),
        ]  # fmt: skip
        check_invariants(trace)
