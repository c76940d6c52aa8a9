"""The profiler's own sums beside those computed from its events."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.analyses.steps.recorded_summary import recorded_summary
from stepscope.model.errors import MissingInputError
from support import Facts, recorded_trace, shared


def said(f: Facts, source: str, subject: str, metric: str, value: float, step: str | None = None) -> None:
    f.row("recorded", source=source, step=step, subject=subject, metric=metric, value=value)


def compared(f: Facts) -> dict[tuple[str, str | None, str, str], tuple[int, int]]:
    rows = recorded_summary(f.trace()).records()
    assert all(row["difference_ns"] == row["computed_ns"] - row["recorded_ns"] for row in rows)
    assert [abs(row["difference_ns"]) for row in rows] == sorted((abs(r["difference_ns"]) for r in rows), reverse=True)
    return {(r["source"], r["step"], r["subject"], r["metric"]): (r["recorded_ns"], r["computed_ns"]) for r in rows}


def test_overlap_and_steps_are_computed_from_the_device() -> None:
    f = Facts()
    f.step(7, 0, 1000)
    f.kernel("a", 100, 200, kind="compute")
    f.kernel("c", 250, 250, kind="comm", stream="20")
    f.kernel("b", 700, 100, kind="compute")
    said(f, "overlap", "Computing", "Duration(ns)", 300.0)
    said(f, "overlap", "Computing", "Count", 2)
    said(f, "overlap", "Communication(Not Overlapped)", "Duration(ns)", 210.0)
    said(f, "overlap", "Free", "Duration(ns)", 200.0)
    said(f, "steps", "", "Communication", 0.25, "7")
    said(f, "steps", "", "Overlapped", 0.05, "7")
    said(f, "steps", "", "Free", 0.2, "7")
    assert compared(f) == {
        ("overlap", None, "Communication(Not Overlapped)", "Duration(ns)"): (210, 200),
        ("overlap", None, "Computing", "Duration(ns)"): (300, 300),
        ("overlap", None, "Free", "Duration(ns)"): (200, 200),
        ("steps", "7", "", "Communication"): (250, 250),
        ("steps", "7", "", "Overlapped"): (50, 50),
    }


def test_operators_are_kernels_by_type_and_core() -> None:
    f = Facts()
    for ts, kind, core in ((0, "Add", "AI_VECTOR_CORE"), (100, "Add", "AI_VECTOR_CORE"), (200, "Add", "AI_CPU")):
        f.kernel("aclnn", ts, 30, kind="compute", op_type=kind, core=core)
    said(f, "operators", "Add AI_VECTOR_CORE", "Total Time(us)", 0.061)
    said(f, "operators", "Add AI_VECTOR_CORE", "Max Time(us)", 0.03)
    said(f, "operators", "Mul AI_CORE", "Total Time(us)", 5.0)
    assert compared(f) == {("operators", None, "Add AI_VECTOR_CORE", "Total Time(us)"): (61, 60)}


def test_calls_are_found_by_layer_and_operators_of_the_same_name_are_none() -> None:
    f = Facts()
    f.host("op", "aclnnAdd", 0, 90)
    f.host("runtime", "aclnnAdd", 10, 40)
    f.host("launch", "Node@launch", 20, 20)
    f.host("sync", "aclrtSynchronizeDevice", 100, 7)
    said(f, "api", "acl aclnnAdd", "Time(us)", 0.04)
    said(f, "api", "node launch", "Time(us)", 0.02)
    said(f, "api", "acl aclrtSynchronizeDevice", "Time(us)", 0.009)
    said(f, "api", "acl aclrtFree", "Time(us)", 0.5)
    assert compared(f) == {
        ("api", None, "acl aclrtSynchronizeDevice", "Time(us)"): (9, 7),
        ("api", None, "acl aclnnAdd", "Time(us)"): (40, 40),
        ("api", None, "node launch", "Time(us)"): (20, 20),
    }


def plane(f: Facts, of: int, ts: int, dur: int, kind: str, **facts: Any) -> None:
    event = f.host("other", kind, ts, dur, thread="planes")
    f.row("comm_tasks", **{"event": event, "collective": of, "kind": kind, "plane": 1, **facts})


def test_collectives_wait_and_transfer_on_plane_one() -> None:
    f = Facts()
    of = f.kernel("hcom_allReduce__586_0_1", 0, 1000, kind="comm", stream="group 0")
    plane(f, of, 0, 600, "wait")
    plane(f, of, 600, 300, "reduce", bytes=8, link="HCCS")
    plane(f, of, 600, 350, "reduce", bytes=8, link="HCCS", plane=2)
    plane(f, of, 0, 10, "copy", bytes=8, link="ON_CHIP")
    subject = "collective hcom_allReduce__586_0_1@17522688603477080586"
    for metric, value in (("Elapse", 0.001), ("Transit", 0.0003), ("Wait", 0.0006), ("Idle", 0.0001)):
        said(f, "communication", subject, f"{metric} Time(ms)", value, "7")
    said(f, "communication", "collective Total Op Info", "Elapse Time(ms)", 1.0, "7")
    assert compared(f) == {
        ("communication", "7", subject, "Elapse Time(ms)"): (1000, 1000),
        ("communication", "7", subject, "Transit Time(ms)"): (300, 300),
        ("communication", "7", subject, "Wait Time(ms)"): (600, 600),
    }


def test_names_that_occur_twice_are_left_out() -> None:
    f = Facts()
    for ts in (0, 100):
        f.kernel("hcom_allReduce__586_0_1", ts, 10, kind="comm", stream="group 0")
    said(f, "communication", "collective hcom_allReduce__586_0_1@1", "Elapse Time(ms)", 0.00001)
    with pytest.raises(MissingInputError):
        recorded_summary(f.trace())


def test_it_abstains_where_nothing_was_summed_up() -> None:
    f = Facts()
    f.kernel("a", 0, 10, kind="compute")
    with pytest.raises(MissingInputError, match="no sums"):
        recorded_summary(f.trace())


@pytest.mark.parametrize(("level", "numbers"), [("level0_text", 8), ("level1_text", 110), ("level1_db", 16)])
def test_real_recordings_agree(level: str, numbers: int) -> None:
    """Of n durations with fractions of a ns, sums differ by up to n/2 ns; there are 191."""
    folder = shared("ascend", f"alexnet_ddp_{level}", "rank0_ascend_pt")
    with recorded_trace(folder) as trace:
        rows = recorded_summary(trace).records()
    assert len(rows) == numbers
    assert max(abs(row["difference_ns"]) for row in rows) <= 96


def test_numbers_that_overlap_others_are_told_from_those_that_add_up() -> None:
    f = Facts()
    f.step(7, 0, 1000)
    f.kernel("a", 100, 200, kind="compute")
    f.kernel("c", 250, 250, kind="comm", stream="20")
    parts = ("Computing", "Communication", "Communication(Not Overlapped)", "Overlapped")
    for part, value in zip(parts, (0.2, 0.25, 0.2, 0.05), strict=True):
        said(f, "steps", "", part, value, "7")
    rows = recorded_summary(f.trace()).records()
    assert {row["metric"] for row in rows if row["adds_up"]} == {"Computing", "Communication(Not Overlapped)"}
    assert len(rows) == 4
