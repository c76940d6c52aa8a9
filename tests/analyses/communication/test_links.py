"""Traffic between ranks, by link."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.analyses.communication.links import links
from stepscope.model.errors import MissingInputError
from support import Facts, recorded_trace, shared


def collective(f: Facts) -> int:
    event = f.kernel("hcom_allReduce__586_0_1", 0, 1000, kind="comm", stream="group 0")
    f.row("collectives", event=event, group="g", collective="all_reduce")
    return event


def part(f: Facts, ts: int, dur: int, kind: str, **facts: Any) -> None:
    event = f.host("other", kind, ts, dur, thread="planes")
    f.row("comm_tasks", **{"event": event, "kind": kind, "plane": 1, "src": 0, "dst": 1, **facts})


HCCS = {"link": "HCCS", "transport": "SDMA"}


def test_parts_are_summed_by_link_and_pair() -> None:
    f = Facts()
    of = collective(f)
    part(f, 0, 300, "wait", transport="LOCAL", collective=of)
    part(f, 300, 100, "reduce", bytes=4000, collective=of, **HCCS)
    part(f, 450, 50, "wait", transport="LOCAL", collective=of)
    part(f, 500, 200, "copy", bytes=4000, collective=of, **HCCS)
    part(f, 0, 10, "copy", plane=0, dst=0, bytes=90, link="ON_CHIP", transport="SDMA", collective=of)
    part(f, 10, 5, "signal", plane=2, transport="SDMA", collective=of)
    wire, chip = links(f.trace()).records()
    assert wire == {
        "name": "HCCS", "count": 2, "total_ns": 300, "mean_ns": 150, "median_ns": 100, "min_ns": 100, "max_ns": 200,
        "share": 300 / 310, "rank": 0, "transport": "SDMA", "src": 0, "dst": 1, "plane": 1, "bytes": 8000,
        "median_bytes": 4000, "bandwidth": 8000e9 / 300, "best_bandwidth": 40e9, "wait_ns": 350,
    }  # fmt: skip
    assert (chip["name"], chip["dst"], chip["plane"], chip["bytes"], chip["wait_ns"]) == ("ON_CHIP", 0, 0, 90, 0)


def test_a_pair_has_a_row_per_plane_and_link() -> None:
    f = Facts()
    of = collective(f)
    for plane, peer, link in ((1, 1, "HCCS"), (2, 2, "HCCS"), (2, 1, "HCCS"), (3, 9, "ROCE")):
        part(f, 100 * plane, 10 * plane, "copy", plane=plane, dst=peer, bytes=5, link=link, collective=of)
    found = [(row["name"], row["plane"], row["dst"]) for row in links(f.trace()).records()]
    assert found == [("ROCE", 3, 9), ("HCCS", 2, 1), ("HCCS", 2, 2), ("HCCS", 1, 1)]


def test_what_is_not_recorded_stays_unknown() -> None:
    f = Facts()
    of = collective(f)
    part(f, 0, 0, "copy", plane=None, src=None, dst=None, bytes=7, collective=of)
    [row] = links(f.trace()).records()
    assert (row["name"], row["transport"], row["src"], row["plane"]) == ("unknown", None, None, None)
    assert (row["bytes"], row["bandwidth"], row["best_bandwidth"], row["wait_ns"]) == (7, None, None, 0)


def test_it_abstains_without_collectives_and_without_their_parts() -> None:
    f = Facts()
    f.kernel("gemm", 0, 10, kind="compute")
    with pytest.raises(MissingInputError, match="no collective"):
        links(f.trace())
    f = Facts()
    part(f, 0, 10, "wait", collective=collective(f))
    with pytest.raises(MissingInputError, match="no parts"):
        links(f.trace())


def test_a_real_recording_moves_what_the_profiler_says() -> None:
    folder = shared("ascend", "alexnet_ddp_level1_text", "rank0_ascend_pt")
    with recorded_trace(folder) as trace:
        rows = links(trace).records()
        query = "SELECT value FROM recorded WHERE subject = 'collective Total Op Info HCCS' AND metric = '{}'"
        size, time = (trace.scalar(query.format(metric)) for metric in ("Transit Size(MB)", "Transit Time(ms)"))
    wires = [row for row in rows if row["name"] == "HCCS"]
    assert sum(row["bytes"] for row in wires) == pytest.approx(size * 1e6)
    assert sum(row["total_ns"] for row in wires) == pytest.approx(time * 1e6, abs=sum(row["count"] for row in wires))
    assert {row["dst"] for row in wires} == set(range(1, 8))
