"""Snapshots of every generation of PyTorch, from dictionaries to tables."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readers.conformance import check_invariants
from readers.memsnapshot.snapshots import (
    MIB,
    T0,
    History,
    block,
    frame,
    health,
    opened,
    segment,
    snapshot,
    table,
    trace_of,
    write,
)
from series import rounds
from stepscope.analyses.registry import analyses
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.tables import BY_NAME

_FRAMES = (
    "SELECT stack, list(text ORDER BY nth) AS frames FROM (SELECT stack, unnest(frames) AS frame, "
    "generate_subscripts(frames, 1) AS nth FROM call_stacks) JOIN call_frames USING (frame) GROUP BY stack"
)
_ENTRIES = "SELECT seq, ts, action, address, bytes FROM allocator_events ORDER BY device, seq"


def _job(timed: bool = True) -> tuple[list[dict], History]:
    """A segment is taken, two blocks are allocated, the first is freed; the second stays."""
    history = History(timed).add("segment_alloc", 4096, 20 * MIB, "main")
    history.alloc(4096, 1000, "forward", "main").alloc(4096 + 1024, 5 * MIB, "step", "main").free(4096, 1000)
    blocks = [block(1024), block(5 * MIB, "active_allocated", frames=[frame("step"), frame("main")])]
    blocks.append(block(15 * MIB - 1024))
    return [segment(4096, blocks)], history


def test_2_0_has_no_addresses_of_blocks_no_times_and_stacks_in_a_history(tmp_path: Path) -> None:
    blocks = [
        {"size": 1024, "requested_size": 1000, "state": "active_allocated",
         "history": [{"addr": 4096, "real_size": 1000, "frames": [frame("first")]}]},
        {"size": 3072, "state": "inactive", "history": [{"addr": 5120, "real_size": 7, "frames": [frame("gone")]}]},
        {"size": 4096, "state": "active_awaiting_free", "requested_size": 4000},
    ]  # fmt: skip
    old = {"device": 0, "address": 4096, "total_size": 8192, "stream": 5, "segment_type": "small", "blocks": blocks}
    marker = History(timed=False).add("snapshot", 0, 1000)
    with trace_of(tmp_path, snapshot([old], marker)) as trace:
        assert table(trace, "SELECT segment, device, address, bytes, stream, kind, pool, expandable FROM segments") == [
            (0, 0, 4096, 8192, "5", "small", None, None)
        ]
        assert table(trace, "SELECT address, bytes, requested, state, stack FROM blocks ORDER BY address") == [
            (4096, 1024, 1000, "active", 0), (5120, 3072, 7, "inactive", 1), (8192, 4096, 4000, "pending", None),
        ]  # fmt: skip
        assert table(trace, "SELECT place FROM call_stacks ORDER BY stack") == [
            ("/home/me/train.py(1): first",), ("/home/me/train.py(1): gone",),
        ]  # fmt: skip
        # One entry, the snapshot's own, is no history: nothing can be older than it.
        assert health(trace) == {"no-history": 1}
        assert trace.recordings[0].origin_unix_ns is None


def test_2_1_has_positions_for_times(tmp_path: Path) -> None:
    segments, history = _job(timed=False)
    with trace_of(tmp_path, snapshot(segments, history)) as trace:
        assert table(trace, _ENTRIES) == [
            (0, 0, "segment_alloc", 4096, 20 * MIB), (1, 1, "alloc", 4096, 1000), (2, 2, "alloc", 5120, 5 * MIB),
            (3, 3, "free_requested", 4096, 1000), (4, 4, "free_completed", 4096, 1000),
        ]  # fmt: skip
        assert set(health(trace)) == {"no-times"}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_2_2_and_later_have_times_in_every_pickle_protocol(tmp_path: Path, protocol: int) -> None:
    segments, history = _job()
    with trace_of(tmp_path, snapshot(segments, history), protocol) as trace:
        assert [row[1] for row in table(trace, _ENTRIES)] == [0, 1000, 2000, 3000, 4000]
        assert trace.recordings[0].origin_unix_ns == T0 * 1000
        assert health(trace) == {}
        memory = "SELECT ts, address, bytes, allocated, reserved FROM memory ORDER BY ts, bytes NULLS FIRST"
        assert table(trace, memory) == [
            (0, None, None, 0, 0),
            (0, None, None, 0, 20 * MIB),
            (1000, 4096, 1000, 1000, 20 * MIB),
            (2000, 5120, 5 * MIB, 5 * MIB + 1000, 20 * MIB),
            (3000, 4096, -1000, 5 * MIB, 20 * MIB),
        ]  # fmt: skip
        columns = "address, requested, bytes, seq, ts, freed_seq, freed_ts, reusable_seq, reusable_ts, stream"
        assert table(trace, f"SELECT {columns} FROM allocations ORDER BY seq") == [
            (4096, 1000, 1024, 1, 1000, 3, 3000, 4, 4000, "0"),
            (5120, 5 * MIB, 5 * MIB, 2, 2000, None, None, None, None, "0"),
        ]  # fmt: skip


def test_stacks_are_interned_by_content_and_join_frames(tmp_path: Path) -> None:
    segments, history = _job()
    with trace_of(tmp_path, snapshot(segments, history)) as trace:
        assert table(trace, f"SELECT frames FROM ({_FRAMES}) ORDER BY frames") == [
            (["/home/me/train.py(1): forward", "/home/me/train.py(1): main"],),
            (["/home/me/train.py(1): main"],),
            (["/home/me/train.py(1): step", "/home/me/train.py(1): main"],),
        ]
        shared = (
            "SELECT s.place FROM blocks b JOIN allocations a USING (address, stack) JOIN call_stacks s USING (stack)"
        )
        assert table(trace, shared) == [("/home/me/train.py(1): step",)]


def test_2_4_settings_and_2_5_annotations(tmp_path: Path) -> None:
    segments, history = _job()
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "max_split_size": -1, "roundup": {"1": 0}}
    ends = [
        {"stage": "END", "name": "cut off", "device": 0, "time_us": T0},
        {"stage": "START", "name": "ProfilerStep#3", "device": 0, "time_us": T0 + 1},
        {"stage": "START", "name": "Optimizer.step#SGD.step", "device": 0, "time_us": T0 + 2},
        {"stage": "END", "name": "Optimizer.step#SGD.step", "device": 0, "time_us": T0 + 3},
        {"stage": "END", "name": "ProfilerStep#3", "device": 0, "time_us": T0 + 4},
        {"stage": "START", "name": "open", "device": 0, "time_us": T0 + 4},
    ]
    content = snapshot(segments, history, allocator_settings=settings, external_annotations=ends)
    with trace_of(tmp_path, content) as trace:
        assert trace.recordings[0].attributes["allocator.PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
        assert trace.recordings[0].attributes["allocator.max_split_size"] == -1
        annotated = "SELECT name, category, ts, dur FROM events WHERE category <> 'other' ORDER BY ts, name"
        assert table(trace, annotated) == [
            ("ProfilerStep#3", "step", 1000, 3000),
            ("Optimizer.step#SGD.step", "annotation", 2000, 1000),
            ("open", "annotation", 4000, None),
        ]  # fmt: skip
        assert health(trace)["annotations-unmatched"] == 2
        owners = "SELECT m.ts, e.name FROM memory m JOIN events e ON e.id = m.owner WHERE m.bytes > 0 ORDER BY 1"
        assert table(trace, owners) == [(1000, "ProfilerStep#3"), (2000, "Optimizer.step#SGD.step")]


def test_2_8_to_2_13_context_metadata_pools_and_graph_nodes(tmp_path: Path) -> None:
    history = History()
    history.alloc(4096, 512, "f", compile_context="N/A", user_metadata="", pool_id=(0, 0))
    history.alloc(4608, 512, compile_context="0/1", user_metadata="epoch 3", pool_id=(1, 0))
    history.entries[0]["frames"][0]["fx_node_name"] = "linear_1"
    live = [block(512, "active_allocated"), block(512, "active_allocated")]
    with trace_of(tmp_path, snapshot([segment(4096, live, segment_pool_id=(1, 0))], history)) as trace:
        assert table(trace, "SELECT context, metadata, pool FROM allocator_events ORDER BY seq") == [
            (None, None, None), ("0/1", "epoch 3", "1.0"),
        ]  # fmt: skip
        assert table(trace, "SELECT text FROM call_frames") == [("/home/me/train.py(1): f [linear_1]",)]
        assert table(trace, "SELECT pool FROM segments") == [("1.0",)]


def test_profiles_turned_into_snapshots_have_categories_and_bare_blocks(tmp_path: Path) -> None:
    history = History(timed=False).alloc(64, 100, "f", category="gradient").free(64, 100)
    history.alloc(200, 50, category="parameter")
    bare = [{"size": 136, "state": "inactive"},
            {"size": 50, "state": "active_allocated", "requested_size": 50, "frames": [], "real_size": 50}]  # fmt: skip
    part = {"device": 1, "address": 64, "total_size": 186, "stream": 0, "blocks": bare}
    with trace_of(tmp_path, {"segments": [part], "device_traces": [[], history.entries]}) as trace:
        assert table(trace, "SELECT device, address, category, bytes FROM allocations ORDER BY seq") == [
            (1, 64, "gradient", 512), (1, 200, "parameter", 50),
        ]  # fmt: skip
        assert trace.sql("SELECT device, used FROM devices").to_pylist() == [{"device": 1, "used": True}]


def test_a_list_of_segments_alone(tmp_path: Path) -> None:
    with trace_of(tmp_path, _job()[0]) as trace:
        assert table(trace, "SELECT count(*) FROM blocks") == [(3,)]
        assert table(trace, "SELECT seq, requested FROM allocations") == [(None, 5 * MIB)]
        assert table(trace, "SELECT name, dur FROM events") == [("memory snapshot", None)]
        assert health(trace)["no-history"] == 1


@pytest.mark.parametrize("packed", [False, True])
def test_json_gives_the_same_tables_as_the_pickle(tmp_path: Path, packed: bool) -> None:
    content = snapshot(*([_job()[0]]), _job()[1])
    text = json.dumps(content).encode()
    target = tmp_path / "snapshot.txt"
    target.write_bytes(gzip.compress(text) if packed else text)
    with opened(target) as read, opened(write(tmp_path, content)) as expected:
        for name in ("segments", "blocks", "allocator_events", "allocations", "memory"):
            columns = [column for column in BY_NAME[name].names if column != "stack"]
            query = f"SELECT {', '.join(columns)}{', frames' * ('stack' in BY_NAME[name].names)} FROM {name} "
            if "stack" in BY_NAME[name].names:
                query += f"LEFT JOIN ({_FRAMES}) USING (stack) "
            assert table(read, query + "ORDER BY ALL") == table(expected, query + "ORDER BY ALL"), name
        assert read.recordings[0].attributes["format"] == "json"


def test_several_devices_keep_their_histories_apart(tmp_path: Path) -> None:
    first, second = History().alloc(512, 10, "a"), History().alloc(512, 20, "b").free(512, 20)
    segments = [
        segment(512, [block(512, "active_allocated", requested_size=10)]), segment(512, [block(512)], device=2)
    ]  # fmt: skip
    with trace_of(tmp_path, snapshot(segments, first, History(), second)) as trace:
        assert table(trace, "SELECT device, requested, freed_seq FROM allocations ORDER BY device") == [
            (0, 10, None), (2, 20, 1),
        ]  # fmt: skip
        assert table(trace, "SELECT device, max(allocated) FROM memory GROUP BY 1 ORDER BY 1") == [(0, 10), (2, 20)]


def test_a_ring_that_lost_its_start_is_completed_from_the_end(tmp_path: Path) -> None:
    history = History().free(4096, 700).alloc(4096, 300)
    live = [block(512, "active_allocated", requested_size=300), block(2048, "active_allocated", requested_size=2000)]
    with trace_of(tmp_path, snapshot([segment(4096, live)], history)) as trace:
        assert table(trace, "SELECT address, requested, bytes, seq, freed_seq FROM allocations ORDER BY 1, 2") == [
            (4096, 300, 512, 2, None), (4096, 700, 1024, None, 0), (4608, 2000, 2048, None, None),
        ]  # fmt: skip
        assert table(trace, "SELECT allocated FROM memory") == [(2700,), (2000,), (2300,)]
        assert table(trace, "SELECT DISTINCT reserved FROM memory") == [(2560,)]
        # It is not full: what is older was there when it began, and nothing is lost.
        assert health(trace) == {"history-older": 1, "history-late": 1, "no-stacks": 1}


def test_histories_that_do_not_fit_are_mended_and_counted(tmp_path: Path) -> None:
    history = History().alloc(512, 10).alloc(512, 20).add("free_completed", 512, 20).alloc(1024, 30)
    history.entries[2]["time_us"] = T0 - 5
    with trace_of(tmp_path, snapshot([segment(512, [block(1024)])], history)) as trace:
        assert table(trace, "SELECT requested, seq, freed_seq, reusable_seq FROM allocations ORDER BY seq") == [
            (10, 0, 1, 1), (20, 1, 2, 2), (30, 3, None, None),
        ]  # fmt: skip
        assert [row[1] for row in table(trace, _ENTRIES)] == [0, 1000, 1000, 3000]
        found = health(trace)
        assert (found["history-unbalanced"], found["history-vanished"], found["times-mended"]) == (1, 1, 1)


@pytest.mark.parametrize(("entries", "full"), [(1, False), (2, False), (999, False), (2000, True), (1024, True)])
def test_a_history_as_long_as_a_limit_is_said_to_be_full(tmp_path: Path, entries: int, full: bool) -> None:
    history = History()
    for number in range(entries):
        history.alloc(512 * number, 10)
    history.entries[0].update(action="free_requested")
    with trace_of(tmp_path, snapshot([], history)) as trace:
        assert ("history-full" in health(trace)) == full
        assert ("history-lost" in health(trace)) == full
        assert ("history-older" in health(trace)) == (not full and entries > 1)
        assert ("no-history" in health(trace)) == (entries == 1)


def test_values_of_wrong_types_cost_no_more_than_themselves(tmp_path: Path) -> None:
    history = History().alloc(512, 10).alloc(1024, 20).alloc(2048, 30)
    history.entries[0].update(size="big", stream="default", time_us=None)
    history.entries[1].update(addr=(1 << 64) - 512, frames="none", compile_context=7)
    history.entries[2].update(action=None, size=-4)
    history.entries.insert(1, "nonsense")  # type: ignore[arg-type]
    broken = segment(512, [block(512, "active_allocated"), block(10, "odd")])
    broken["blocks"][0].update(size=None, requested_size=1 << 80)
    with trace_of(tmp_path, snapshot([broken, "nonsense"], history)) as trace:  # type: ignore[list-item]
        assert table(trace, "SELECT seq, action, address, bytes, stream FROM allocator_events ORDER BY seq") == [
            (0, "alloc", 512, None, "default"), (1, "alloc", -512, 20, "0"), (2, "unknown", 2048, None, "0"),
        ]  # fmt: skip
        assert table(trace, "SELECT bytes, requested, state FROM blocks ORDER BY state") == [
            (0, None, "active"), (10, 10, "unknown"),
        ]  # fmt: skip


_ODD = (
    -1,
    0,
    1,
    (1 << 63) - 1,
    -(1 << 63),
    1 << 64,
    1 << 200,
    0.5,
    float("nan"),
    float("inf"),
    True,
    None,
    "x",
    "\ud800",
)
_ODD_VALUES = st.sampled_from([*_ODD, [], [1], {}, {"a": 1}, (1, 2), [[1, 2]]])


@settings(max_examples=rounds(60, 3), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_anywhere_breaks_the_reading(tmp_path: Path, data: st.DataObject) -> None:
    """One to three values of a snapshot are replaced by odd ones, in the pickle."""
    segments, history = _job()
    marks = [{"stage": stage, "name": "forward", "device": 0, "time_us": T0 + 1} for stage in ("START", "END")]
    content = snapshot(segments, history, allocator_settings={"a": 1}, external_annotations=marks)
    places = [content, *segments, *segments[0]["blocks"], *history.entries, *marks, history.entries[1]["frames"][0]]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places))
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(_ODD_VALUES)
    try:
        trace = opened(write(tmp_path, content))
    except UserError as error:
        odd = str(error)
        assert "no segments" in odd or "damaged" in odd or "would make objects" in odd
        return
    with trace:
        check_invariants(trace)
        for name in (
            "memory_snapshot",
            "memory_spikes",
            "memory_unreturned",
            "memory_peak_stacks",
            "allocator_timeline",
        ):
            with suppress(MissingInputError):
                analyses()[name].run(trace)
