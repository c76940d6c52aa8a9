"""Copies by direction and kinds of memory."""

from __future__ import annotations

import pytest

from stepscope.analyses.copies.copies import copies
from stepscope.model.errors import MissingInputError
from support import Facts


def copy(
    f: Facts, ts: int, dur: int, direction: str = "HtoD", kinds: tuple[str | None, str | None] = ("pinned", "device"),
    *, size: int | None = 1000, call: tuple[str, int, int] | None = None,
) -> None:  # fmt: skip
    """A copy, launched by a call (name, ts, dur) or by none."""
    correlation = None
    if call:
        correlation = f.correlation()
        f.host("launch", call[0], call[1], call[2], correlation=correlation)
    event = f.kernel(f"Memcpy {direction}", ts, dur, kind="copy", launch=correlation)
    f.row("copies", event=event, direction=direction, bytes=size, src_kind=kinds[0], dst_kind=kinds[1])


def test_sizes_and_bandwidth_by_kind() -> None:
    f = Facts()
    copy(f, 0, 100, size=1000)
    copy(f, 200, 300, size=5000)
    copy(f, 600, 50, "DtoH", ("device", "pageable"), size=10)
    pinned, pageable = copies(f.trace()).records()
    assert pinned == {
        "name": "HtoD (pinned -> device)", "count": 2, "total_ns": 400, "mean_ns": 200, "median_ns": 100, "min_ns": 100,
        "max_ns": 300, "share": 400 / 450, "rank": 0, "direction": "HtoD", "src_kind": "pinned", "dst_kind": "device",
        "bytes": 6000, "min_bytes": 1000, "median_bytes": 1000, "max_bytes": 5000, "bandwidth": 15e9, "blocking": None,
        "blocked_ns": 0,
    }  # fmt: skip
    assert (pageable["name"], pageable["bandwidth"]) == ("DtoH (device -> pageable)", 2e8)


def test_regression_hta_a_copy_of_no_duration_has_no_bandwidth_of_its_own() -> None:
    f = Facts()
    copy(f, 0, 0, size=10**9)
    copy(f, 10, 100, size=1000)
    copy(f, 200, 100, size=None)
    copy(f, 400, 0, "DtoD", ("device", "device"), size=10)
    first, second = copies(f.trace()).records()
    assert (first["bytes"], first["bandwidth"]) == (10**9 + 1000, 1e10)
    assert (second["total_ns"], second["bandwidth"]) == (0, None)


def test_unknown_kinds_and_sizes_stay_unknown() -> None:
    f = Facts()
    copy(f, 0, 10, "unknown", (None, None), size=None)
    copy(f, 20, 8, "HtoD", (None, "device"))
    f.kernel("Memset (Device)", 40, 5, kind="set")
    rows = copies(f.trace()).records()
    assert [(r["name"], r["bytes"], r["bandwidth"]) for r in rows] == [
        ("unknown", None, None), ("HtoD (unknown -> device)", 1000, 1.25e11), ("set", None, None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kinds", "end", "blocking"),
    [
        ("cudaMemcpyAsync", ("device", "pageable"), 110, 1),
        ("cudaMemcpyAsync", ("device", "pageable"), 109, 1),  # all was staged a little before the copy was done
        ("cudaMemcpyAsync", ("device", "pageable"), 84, 0),  # returned before half of it was done
        ("cudaMemcpyAsync", ("device", "pinned"), 200, 0),
        ("cudaMemcpy", ("device", "pinned"), 200, 1),
        ("hipMemcpyWithStream", ("device", None), 200, 1),
    ],
)
def test_a_copy_blocks_if_its_call_waits_for_it(
    name: str, kinds: tuple[str, str | None], end: int, blocking: int
) -> None:
    f = Facts()
    copy(f, 60, 50, "DtoH", kinds, call=(name, 0, end))
    [row] = copies(f.trace()).records()
    assert (row["blocking"], row["blocked_ns"]) == (blocking, blocking * end)


def test_concurrent_copies_on_two_devices_count_in_full() -> None:
    f = Facts()
    for device in (0, 1):
        event = f.kernel("Memcpy PtoP", 0, 100, kind="copy", device=device)
        f.row("copies", event=event, direction="PtoP", bytes=500, src_kind="device", dst_kind="device")
    [row] = copies(f.trace()).records()
    assert (row["count"], row["total_ns"], row["bandwidth"]) == (2, 200, 5e9)


def test_a_job_without_copies_has_no_rows_and_one_without_device_abstains() -> None:
    f = Facts()
    f.kernel("k", 0, 10)
    assert len(copies(f.trace())) == 0
    host = Facts()
    host.host("op", "aten::mm", 0, 10)
    with pytest.raises(MissingInputError, match="no device activity"):
        copies(host.trace())
