"""Collectives: durations, sizes, bandwidths and what compute hides."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.analyses.communication.collective_calls import collective_calls
from stepscope.analyses.communication.collectives import collectives
from stepscope.model.bus import bus_factor
from stepscope.model.errors import MissingInputError
from support import Facts, recorded_trace


def comm(f: Facts, ts: int, dur: int, collective: str = "all_reduce", **facts: Any) -> int:
    event = f.kernel("ncclDevKernel_Generic", ts, dur, kind="comm", stream="20")
    f.row("collectives", **{"event": event, "group": "dp", "collective": collective, **facts})
    return event


def test_bandwidth_and_overlap_of_equal_collectives_are_summed() -> None:
    f = Facts()
    f.kernel("gemm", 0, 150, kind="compute")
    comm(f, 100, 100, bytes=2000, world_size=4)
    comm(f, 300, 50, bytes=3000, world_size=4)
    comm(f, 500, 30, "broadcast", bytes=60, world_size=4)
    reduced, sent = collectives(f.trace()).records()
    assert reduced == {
        "name": "all_reduce", "count": 2, "total_ns": 150, "mean_ns": 75, "median_ns": 50, "min_ns": 50, "max_ns": 100,
        "share": 150 / 180, "rank": 0, "device": 0, "group": "dp", "world_size": 4, "size_class": "up to 4 KiB",
        "bytes": 5000, "overlapped_ns": 50, "exposed_ns": 100, "algorithm_bandwidth": 5000e9 / 150,
        "bus_bandwidth": 5000e9 / 150 * 1.5, "best_bus_bandwidth": 60e9 * 1.5,
    }  # fmt: skip
    assert (sent["name"], sent["bus_bandwidth"]) == ("broadcast", 2e9)


def test_size_classes_include_their_upper_limit() -> None:
    sizes = (
        (0, "up to 4 KiB"),
        (4096, "up to 4 KiB"),
        (4097, "4 to 64 KiB"),
        (16 << 20, "1 to 16 MiB"),
        ((16 << 20) + 1, "16 to 256 MiB"),
        (1 << 40, "over 256 MiB"),
        (None, "unknown"),
    )
    f = Facts()
    for place, (size, _) in enumerate(sizes):
        comm(f, 20 * place, 10 + place, bytes=size, group=str(place))
    rows = sorted(collectives(f.trace()).records(), key=lambda row: int(row["group"]))
    assert [row["size_class"] for row in rows] == [label for _, label in sizes]


def test_what_is_not_recorded_stays_unknown() -> None:
    f = Facts()
    comm(f, 0, 10)
    comm(f, 20, 10, "barrier", bytes=0, world_size=2)
    comm(f, 40, 0, bytes=100, world_size=1)
    for row in collectives(f.trace()).records():
        assert row["bus_bandwidth"] is None
        assert row["best_bus_bandwidth"] is None


def test_the_group_tells_how_many_ranks_take_part() -> None:
    f = Facts()
    comm(f, 0, 100, "all_gather", bytes=1000)
    f.row("groups", group="dp", size=4)
    [row] = collectives(f.trace()).records()
    assert (row["world_size"], row["bus_bandwidth"]) == (4, 1e10 * 0.75)


def test_collectives_of_the_host_have_no_overlap() -> None:
    f = Facts()
    event = f.host("op", "record_param_comms", 0, 100)
    f.row("collectives", event=event, group="cpu", collective="all_reduce", bytes=1000, world_size=2)
    f.kernel("gemm", 0, 150, kind="compute")
    trace = f.trace()
    [row] = collectives(trace).records()
    assert (row["device"], row["total_ns"], row["overlapped_ns"], row["exposed_ns"]) == (None, 100, None, None)
    [call] = collective_calls(trace).records()
    assert (call["event"], call["device"], call["overlapped_ns"]) == (event, None, None)


def test_calls_are_listed_in_time_order_with_their_position() -> None:
    f = Facts()
    f.step(0, 0, 1000)
    f.kernel("gemm", 60, 20, kind="compute")
    first = comm(f, 50, 100, bytes=100, world_size=2, seq=7)
    other = comm(f, 200, 10, group="tp")
    second = comm(f, 300, 10)
    calls = collective_calls(f.trace()).records()
    assert [(c["event"], c["group"], c["seq"], c["position"], c["step"]) for c in calls] == [
        (first, "dp", 7, 0, 0),
        (other, "tp", None, 0, 0),
        (second, "dp", None, 1, 0),
    ]
    assert (calls[0]["overlapped_ns"], calls[0]["exposed_ns"], calls[0]["bus_bandwidth"]) == (20, 80, 1e9)


def test_factors() -> None:
    assert bus_factor("all_reduce", 8) == 1.75
    assert bus_factor("reduce_scatter", 8) == bus_factor("all_to_all", 8) == 0.875
    assert bus_factor("send_recv", -1) == 1.0
    assert bus_factor("all_reduce", 1) is bus_factor("all_gather", -1) is bus_factor("other", 8) is None


def test_without_collectives_it_abstains() -> None:
    f = Facts()
    f.kernel("gemm", 0, 10)
    with pytest.raises(MissingInputError):
        collectives(f.trace())
    with pytest.raises(MissingInputError):
        collective_calls(Facts().trace())


def test_durations_match_the_published_analysis() -> None:
    trace = recorded_trace("kineto", "mi300_resnet_recompute_ddp8", "trace.json.gz")
    found = {
        (row["name"], row["bytes"]): (row["count"], row["total_ns"], row["min_ns"], row["max_ns"])
        for row in collectives(trace).records()
        if row["name"] != "other"
    }
    assert found == {
        ("all_reduce", 3 * 17632384): (3, 26_798_240, 8_656_708, 9_208_906),
        ("all_reduce", 3 * 5746640): (3, 20_338_798, 6_678_400, 6_911_678),
        ("broadcast", 3 * 19200): (3, 43_675, 14_319, 14_719),
        ("broadcast", 3 * 160): (3, 19_597, 5_879, 7_439),
    }
    assert all(row["overlapped_ns"] + row["exposed_ns"] == row["total_ns"] for row in collectives(trace).records())
