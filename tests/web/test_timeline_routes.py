"""What the server says of the timeline: tracks, tiles, one event, flows, names and ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from stepscope.model.trace import Trace
from stepscope.web.app import create_app
from stepscope.web.tiles.clock import axis_of, extent_of
from stepscope.web.tiles.encode import blocks
from stepscope.web.tiles.timeline import Timeline
from stepscope.web.tiles.track import KINDS, SHARES
from support import Facts, recorded_trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    facts = Facts()
    facts.step(1, 0, 10_000)
    facts.host("op", "aten::mm", 100, 900)
    facts.kernel("sgemm", 2_000, 3_000, launch=(200, 100))
    facts.kernel("Memcpy HtoD", 6_000, 1_000, launch=(5_000, 50), kind="copy")
    facts.host("op", "<img src=x onerror=alert(1)>\u202e", 5_500, 100, args={"Call stack": "a.py(1): f"})
    facts.row("raw_memory", ts=50, device=0, bytes=512, allocated=512, reserved=1024, track=0)
    return facts.trace()


@pytest.fixture(scope="module")
def client(trace: Trace) -> TestClient:
    return TestClient(create_app(trace, None), base_url="http://localhost")


def asked(client: TestClient, path: str) -> Any:
    answer = client.get(f"/api/timeline{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def track(client: TestClient, section: str, source: str = "") -> int:
    tracks = asked(client, "")["tracks"]
    return next(one["index"] for one in tracks if one["section"] == section and source in one["source"])


def test_tracks_come_in_the_order_of_the_layers(client: TestClient) -> None:
    found = asked(client, "")
    sections = list(dict.fromkeys(one["section"] for one in found["tracks"]))
    assert sections == ["Steps", "Framework", "CUDA API", "Device 0", "Copies", "Counters"]
    assert (found["first"], found["last"], found["aligned"]) == (0, 10_000, "clock")


def test_where_the_devices_work_is_told_beside_the_whole(client: TestClient) -> None:
    found = asked(client, "")
    assert found["busy"] == [2_000, 7_000]
    facts = Facts()
    facts.host("op", "aten::mm", 0, 900)
    assert Timeline(facts.trace()).to_json()["busy"] is None


def test_a_tile_has_the_events_of_its_range(client: TestClient) -> None:
    index = track(client, "Device 0")
    answer = client.get(f"/api/timeline/tiles?level=4&tile=0&tracks={index}")
    assert answer.headers["content-type"] == "application/octet-stream"
    [(header, columns)] = blocks(answer.content)
    assert (header["track"], header["lo"], header["names"]) == (index, "0", ["sgemm", "Memcpy HtoD"])
    assert columns["start"].tolist() == [2_000.0, 6_000.0]
    assert columns["span"].tolist() == columns["busy"].tolist() == [3_000.0, 1_000.0]
    assert [KINDS[kind] for kind in columns["kind"].tolist()] == ["kernel:gemm", "copy"]
    again = client.get(
        answer.url.path + "?" + answer.url.query.decode(), headers={"If-None-Match": answer.headers["etag"]}
    )
    assert again.status_code == 304


def test_tracks_whose_tiles_were_made_are_at_hand_with_their_lanes(client: TestClient) -> None:
    known = track(client, "Device 0")
    [(header, _)] = blocks(client.get(f"/api/timeline/tiles?level=4&tile=0&tracks={known}").content)
    found = asked(client, "?lanes=1")
    assert found["lanes"][str(known)] == header["lanes"]
    assert str(track(client, "Counters")) not in found["lanes"]
    assert "lanes" not in asked(client, "")
    fresh = Facts()
    fresh.host("op", "aten::mm", 0, 9)
    with fresh.trace() as other:
        anew = TestClient(create_app(other, None), base_url="http://localhost")
        assert asked(anew, "?lanes=1")["lanes"] == {}


def test_shares_fill_the_time_that_is_explained_exactly(client: TestClient) -> None:
    [(_, columns)] = blocks(
        client.get(f"/api/timeline/tiles?level=4&tile=0&tracks={track(client, 'Steps', 'time')}").content
    )
    parts = {SHARES[int(label)]: int(ns.sum()) for label, ns in columns.items()}
    assert (parts["computing"], parts["exposed copy"]) == (3_000, 1_000)
    assert sum(parts.values()) == 10_000
    assert np.stack(list(columns.values())).sum(0).max() == 16


def test_a_counter_has_the_value_that_holds_before(client: TestClient) -> None:
    index = track(client, "Counters")
    later = blocks(client.get(f"/api/timeline/tiles?level=0&tile=2&tracks={index}").content)
    assert later[0][0]["before"] == 512.0
    [(header, columns)] = blocks(client.get(f"/api/timeline/tiles?level=0&tile=0&tracks={index}").content)
    assert (header["before"], columns["start"].tolist(), columns["last"].tolist()) == (None, [50.0], [512.0])


def test_an_event_has_its_place_and_what_it_belongs_to(client: TestClient) -> None:
    found = asked(client, "/search?text=SGEMM")["found"]
    assert (found["name"], found["start"], found["lane"]) == ("sgemm", 2_000, 0)
    details = asked(client, f"/event?rank=0&event={found['id']}")
    assert [(one["what"], one["name"]) for one in details["related"]] == [
        ("launch", "cudaLaunchKernel"), ("operator", "aten::mm"),
    ]  # fmt: skip
    flows = asked(client, f"/flows?rank=0&event={found['id']}")["flows"]
    assert {(flow["kind"], flow["source"]["name"], flow["target"]["name"]) for flow in flows} == {
        ("launch to device", "cudaLaunchKernel", "sgemm"),
        ("operator to launch", "aten::mm", "cudaLaunchKernel"),
    }
    assert asked(client, "/flows?rank=0&from=0&to=10000")["count"] == 3
    assert asked(client, "/flows?rank=0&from=7000&to=10000")["count"] == 0


def test_names_are_text_without_what_does_not_show(client: TestClient) -> None:
    found = asked(client, "/search?text=onerror")
    assert (found["count"], found["found"]["name"]) == (1, "<img src=x onerror=alert(1)>\\u202e")
    assert ["Call stack", "a.py(1): f", ""] in asked(client, f"/event?rank=0&event={found['found']['id']}")["facts"][0][
        "rows"
    ]


def test_search_goes_on_from_where_it_was(client: TestClient) -> None:
    first = asked(client, "/search?text=cuda")["found"]
    where = f"at={first['start']}&event={first['id']}&rank=0"
    assert asked(client, f"/search?text=cuda&{where}")["found"]["start"] == 5_000
    assert asked(client, f"/search?text=cuda&{where}&direction=previous")["found"] is None
    assert client.get("/api/timeline/search?text=c").status_code == 422


def test_a_row_leads_to_the_longest_event_that_it_sums_up() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    facts.step(2, 1_000, 2_000)
    for ts, dur in ((0, 50), (100, 80), (1_000, 60), (1_200, 80), (3_000, 10)):  # the last in no step
        facts.host("op", "aten::mm", ts, dur)
    facts.host("python", "nn.Module: Block_0", 300, 40)
    facts.kernel("Memcpy HtoD", 400, 30, launch=(390, 5), kind="copy")
    facts.kernel("gemm", 1_100, 70, launch=(1_010, 5))
    facts.kernel("gemm", 1_900, 40, launch=(1_210, 5))
    facts.kernel("gemm", 1_300, 50, launch=(1_020, 5))
    client = TestClient(create_app(facts.trace(), None), base_url="http://localhost")

    def start(query: str) -> Any:
        return asked(client, f"/longest?rank=0&{query}")["start"]

    assert start("table=operators&name=aten::mm") == 100
    assert start("table=operators&name=aten::mm&step=2") == 1_200
    assert start("table=operators&name=aten::mm&dur=50") == 0
    assert start("table=operators&name=aten::mm&from=900&to=1100") == 1_000
    assert start("table=modules&name=Block_0") == 300
    assert start("table=copies&name=unknown") == 400
    # Of the operator with most device work, and of the kernel that ended longest after its launch.
    assert start("table=roofline&name=aten::mm") == 1_000
    assert start("table=queue_times&name=gemm") == 1_900
    assert start("table=queue_times&name=aten::mm") == 100
    answer = client.get("/api/timeline/longest?rank=0&table=operators&name=aten::add")
    assert answer.status_code == 422
    assert answer.json()["error"] == "rank 0 has no event called aten::add"


def test_a_range_has_a_budget_that_adds_up_and_tables(client: TestClient) -> None:
    [device] = asked(client, "/range?rank=0&from=4000&to=20000")["devices"]
    parts = dict(device["parts"])
    assert (parts["computing"], parts["exposed copy"], parts["not recorded"]) == (1_000, 1_000, 10_000)
    assert sum(parts.values()) == 16_000
    table = asked(client, "/range/kernels?rank=0&from=4000&to=6000")
    assert [row[0] for row in table["rows"]] == ["sgemm"]
    assert asked(client, "/range/collectives?rank=0&from=0&to=10")["rows"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/tiles?level=99&tile=0&tracks=0", "/tiles?level=4&tile=0&tracks=999", "/tiles?level=4&tracks=0",
        "/tiles?level=4&tile=99999999999999999999999&tracks=0",
        "/tiles?level=4&tile=0&tracks=-1", "/event?rank=7&event=0",
        "/event?rank=0&event=12345", "/flows?rank=0", "/range?rank=0&from=5&to=5", "/range/events?rank=0&from=0&to=5",
        "/search?text=ab&direction=up", "/event?rank=0&event=1e3", f"/tiles?level=4&tile=0&tracks={'0,' * 300}0",
    ],
)  # fmt: skip
def test_what_does_not_exist_is_refused_in_a_sentence(client: TestClient, path: str) -> None:
    answer = client.get(f"/api/timeline{path}")
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_every_recorded_event_is_drawn_in_one_track() -> None:
    with recorded_trace("kineto", "h100_bert_small") as trace:
        timeline = Timeline(trace)
        drawn = [i for i, one in enumerate(timeline.tracks) if one.source in ("thread", "queue", "marks")]
        number = sum(timeline.pyramid(i).events.ts.size for i in drawn)
        assert number == trace.recordings[0].events == sum(timeline.tracks[i].events for i in drawn)


@pytest.mark.parametrize(
    ("origins", "shift", "by"),
    [
        ((1_000, 1_300), {0: 0, 1: 300}, "clock"),
        ((1_000, 1_400), {0: 0, 1: 0}, "start"),
        ((1_000, None), {0: 0, 1: 0}, "start"),
    ],
)
def test_ranks_share_an_axis_where_their_clocks_can_agree(
    origins: tuple[int | None, ...], shift: dict[int, int], by: str
) -> None:
    ranks = {}
    for rank, origin in enumerate(origins):
        facts = Facts()
        facts.host("op", "aten::mm", 0, 400)
        ranks[rank] = facts.trace(rank=rank, origin_unix_ns=origin)
    axis = axis_of(ranks, {rank: extent_of(trace) for rank, trace in ranks.items()})
    assert (axis.shift, axis.by) == (shift, by)
