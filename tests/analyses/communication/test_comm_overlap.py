"""Overlap of communication with compute."""

from __future__ import annotations

import pytest

from stepscope.analyses.communication.comm_overlap import comm_overlap
from stepscope.model.errors import MissingInputError
from support import Facts


def collective(f: Facts, ts: int, dur: int, group: str | None, *, stream: str = "20", device: int = 0) -> None:
    event = f.kernel("ncclDevKernel_AllReduce", ts, dur, kind="comm", stream=stream, device=device)
    if group is not None:
        f.row("collectives", event=event, group=group, collective="all_reduce")


def test_each_group_and_all_together() -> None:
    f = Facts()
    f.kernel("gemm", 0, 100, kind="compute")
    collective(f, 50, 100, "dp")
    collective(f, 120, 60, "tp", stream="21")
    collective(f, 300, 10, None)
    assert comm_overlap(f.trace()).rows() == [
        (0, 0, None, 3, 140, 50, 90, 50 / 140),
        (0, 0, "default", 1, 10, 0, 10, 0.0),
        (0, 0, "dp", 1, 100, 50, 50, 0.5),
        (0, 0, "tp", 1, 60, 0, 60, 0.0),
    ]


def test_collectives_of_a_group_that_overlap_count_once() -> None:
    f = Facts()
    f.kernel("gemm", 0, 100, kind="compute")
    collective(f, 0, 60, "dp")
    collective(f, 40, 60, "dp", stream="21")
    assert comm_overlap(f.trace()).rows()[1] == (0, 0, "dp", 2, 100, 100, 0, 1.0)


def test_compute_on_another_device_hides_nothing() -> None:
    f = Facts()
    f.kernel("gemm", 0, 100, kind="compute", device=1)
    collective(f, 0, 50, "dp", device=0)
    assert comm_overlap(f.trace()).rows() == [
        (0, 0, None, 1, 50, 0, 50, 0.0),
        (0, 0, "dp", 1, 50, 0, 50, 0.0),
    ]


def test_without_duration_the_share_is_null() -> None:
    f = Facts()
    f.kernel("gemm", 0, 100, kind="compute")
    collective(f, 50, 0, "dp")
    assert comm_overlap(f.trace()).column("overlap") == [None, None]


def test_no_communication_no_rows() -> None:
    f = Facts()
    f.kernel("gemm", 0, 100, kind="compute")
    assert len(comm_overlap(f.trace())) == 0


def test_without_device_activity_it_abstains() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    with pytest.raises(MissingInputError):
        comm_overlap(f.trace())
