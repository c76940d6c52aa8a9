"""Amounts that can't be true count as not recorded."""

from __future__ import annotations

import pytest

from stepscope.model.trace import Trace
from support import Facts


def job(**facts: object) -> Trace:
    f = Facts()
    f.kernel("gemm", 0, 10, kind="compute", **facts)
    return f.trace()


def wrong(trace: Trace) -> int:
    return int(trace.scalar("SELECT coalesce(sum(count), 0) FROM health WHERE code = 'amounts-impossible'"))


@pytest.mark.parametrize("size", [[1, 1, 1], [2**31 - 1, 65535, 1], None])
def test_grids_that_may_be(size: list[int] | None) -> None:
    trace = job(grid=size, block=size)
    assert trace.sql("SELECT grid, block FROM kernels").to_pylist() == [{"grid": size, "block": size}]
    assert wrong(trace) == 0


@pytest.mark.parametrize("size", [[1, None, 1], [4, 4], [0, 1, 1], [-47, 1, 1], [2**31 - 1] * 3, []])
def test_grids_that_can_not_be(size: list[int | None]) -> None:
    trace = job(grid=size, block=[128, 1, 1])
    assert trace.sql("SELECT grid, block FROM kernels").to_pylist() == [{"grid": None, "block": [128, 1, 1]}]
    assert wrong(trace) == 1


def test_negative_amounts() -> None:
    f = Facts()
    f.kernel("gemm", 0, 10, kind="compute", registers=-1, shared_bytes=0, occupancy=-0.5)
    f.row("copies", event=f.kernel("Memcpy HtoD", 20, 10, kind="copy"), direction="HtoD", bytes=-4096)
    f.row("collectives", event=f.kernel("ncclAllReduce", 40, 10, kind="comm"), collective="all_reduce", bytes=-8)
    trace = f.trace()
    assert trace.sql("SELECT registers, shared_bytes, occupancy FROM kernels ORDER BY ts LIMIT 1").to_pylist() == [
        {"registers": None, "shared_bytes": 0, "occupancy": None}
    ]
    assert trace.scalar("SELECT bytes FROM copies") is None
    assert trace.scalar("SELECT bytes FROM collectives") is None
    assert wrong(trace) == 4


@pytest.mark.parametrize(("size", "kept"), [(2**44, True), (2**44 + 1, False), (2**63 - 1, False)])
def test_sizes_beyond_any_memory(size: int, kept: bool) -> None:
    f = Facts()
    for start in (0, 20, 40):
        copy = f.kernel("Memcpy HtoD", start, 10, kind="copy")
        f.row("copies", event=copy, direction="HtoD", bytes=size)
    trace = f.trace()
    assert trace.scalar("SELECT sum(bytes)::BIGINT FROM copies") == (3 * size if kept else None)
    assert wrong(trace) == (0 if kept else 3)
