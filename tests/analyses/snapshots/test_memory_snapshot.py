"""Answers about memory snapshots, on small ones with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.memsnapshot.snapshots import MIB, History, block, segment, snapshot, trace_of
from stepscope.analyses.registry import analyses
from stepscope.analyses.snapshots.memory_snapshot_layout import FreeLayout
from stepscope.analyses.snapshots.memory_snapshot_oom import verdict
from stepscope.analyses.snapshots.memory_snapshot_spikes import spikes
from stepscope.model.errors import MissingInputError
from support import Facts


def _asked(name: str, folder: Path, content: Any) -> list[dict[str, Any]]:
    with trace_of(folder, content) as trace:
        return analyses()[name].run(trace).records()


def _live(size: int, requested: int | None = None) -> dict[str, Any]:
    return block(size, "active_allocated", requested_size=size if requested is None else requested)


def test_the_state_of_a_device_splits_reserved_memory(tmp_path: Path) -> None:
    used = segment(0, [_live(4096, 4000), block(1024), block(2048, "active_pending_free")])
    empty = segment(1 << 20, [block(8192)])
    [row] = _asked("memory_snapshot", tmp_path, snapshot([used, empty], History()))
    expected = {
        "device": 0, "segments": 2, "reserved_bytes": 15360, "allocated_bytes": 4096, "active_bytes": 6144,
        "requested_bytes": 6048, "inactive_bytes": 9216, "releasable_bytes": 8192, "stranded_bytes": 1024,
        "largest_free_bytes": 8192, "segment_calls_per_1000_allocs": None, "peak_bytes": 6048,
        "peak_is_lower_bound": True, "rounding_bytes": 96,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert list(row)[: len(expected) - 1] == list(expected)[:-1]


def test_pools_streams_and_expandable_segments_are_apart(tmp_path: Path) -> None:
    parts = [
        segment(0, [_live(1024)]),
        segment(1 << 20, [block(2048)], segment_pool_id=(3, 0)),
        segment(2 << 20, [_live(4096)], is_expandable=True, stream=7),
        segment(3 << 20, [_live(512)], segment_type="small"),
    ]
    rows = _asked("memory_pools", tmp_path, snapshot(parts, History()))
    columns = ("pool", "kind", "expandable", "stream", "reserved_bytes", "releasable_bytes")
    assert [tuple(r[name] for name in columns) for r in rows] == [
        (None, "large", True, "7", 4096, 0), ("3.0", "large", False, "0", 2048, 2048),
        (None, "large", False, "0", 1024, 0), (None, "small", False, "0", 512, 0),
    ]  # fmt: skip


def test_what_private_pools_hold_is_none_of_the_activations(tmp_path: Path) -> None:
    history = History().alloc(0, 2048, "forward").alloc(1 << 20, 1024, "forward")
    for _ in range(70):
        history.alloc(1 << 30, 512, "other").free(1 << 30, 512)
    parts = [segment(0, [_live(2048)], segment_pool_id=(0, 1)), segment(1 << 20, [_live(1024)])]
    rows = _asked("memory_peak_stacks", tmp_path, snapshot(parts, history))
    held = {row["name"]: row["bytes"] for row in rows if row["by"] == "purpose"}
    assert {name: held[name] for name in ("private pools", "activations")} == {
        "private pools": 2048, "activations": 1024
    }  # fmt: skip


def test_the_peak_is_exact_where_the_history_is_whole(tmp_path: Path) -> None:
    history = History().add("segment_alloc", 0, 2 * MIB).alloc(0, 600, "a").alloc(1024, 300, "b").free(0, 600)
    content = snapshot([segment(0, [block(1024), _live(512, 300), block(2 * MIB - 1536)])], history)
    [row] = _asked("memory_snapshot", tmp_path, content)
    assert (row["peak_bytes"], row["peak_is_lower_bound"], row["segment_calls_per_1000_allocs"]) == (900, False, 500.0)


def test_levels_tell_reserved_allocated_active_and_requested_apart(tmp_path: Path) -> None:
    history = History().add("segment_alloc", 0, 2 * MIB).alloc(0, 600).add("free_requested", 0, 600)
    history.add("free_completed", 0, 600).add("segment_free", 0, 2 * MIB)
    rows = _asked("allocator_timeline", tmp_path, snapshot([], history))
    levels = [tuple(r[f"{n}_bytes"] for n in ("reserved", "allocated", "active", "requested")) for r in rows]
    assert levels == [
        (0, 0, 0, 0), (2 * MIB, 0, 0, 0), (2 * MIB, 1024, 1024, 600), (2 * MIB, 0, 1024, 0), (2 * MIB, 0, 0, 0),
        (0, 0, 0, 0),
    ]  # fmt: skip
    assert [r["seq"] for r in rows] == [-1, 0, 1, 2, 3, 4]


def test_the_peak_is_held_by_stacks_modules_and_categories(tmp_path: Path) -> None:
    history = History().alloc(0, 1000, "forward", "main").alloc(4096, 300, "main").alloc(8192, 50, "forward", "main")
    history.free(8192, 50).alloc(1 << 20, 10)
    content = snapshot([segment(0, [_live(1024, 1000), block(3072), _live(512, 300)])], history)
    content["segments"].append(segment(1 << 20, [_live(512, 10)]))
    content["segments"].append(segment(1 << 21, [_live(2048, 2000)]))
    rows = _asked("memory_peak_stacks", tmp_path, content)
    assert [(r["by"], r["name"], r["bytes"], r["count"], r["before_bytes"]) for r in rows] == [
        ("stack", "older than the recording", 2000, 1, 2000), ("stack", "/home/me/train.py(1): forward", 1050, 2, 0),
        ("stack", "/home/me/train.py(1): main", 300, 1, 0),
        ("line", "older than the recording", 2000, 1, 2000), ("line", "/home/me/train.py(1): forward", 1050, 2, 0),
        ("line", "/home/me/train.py(1): main", 300, 1, 0),
        ("module", "unknown", 2300, 2, 2000), ("module", "train.py", 1050, 2, 0),
        ("category", "unknown", 2000, 1, 2000), ("category", "forward", 1050, 2, 0), ("category", "other", 300, 1, 0),
        ("purpose", "older than the recording", 2000, 1, 2000), ("purpose", "activations", 1000, 1, 0),
        ("purpose", "other", 300, 1, 0), ("purpose", "temporaries", 50, 1, 0),
    ]  # fmt: skip
    assert rows[1]["frames"] == ["/home/me/train.py(1): forward", "/home/me/train.py(1): main"]
    assert sum(r["share"] for r in rows if r["by"] == "category") == pytest.approx(1)


def test_recorded_categories_count_before_those_of_stacks(tmp_path: Path) -> None:
    history = History().alloc(0, 1000, "forward", category="gradient")
    rows = _asked("memory_peak_stacks", tmp_path, snapshot([segment(0, [_live(1024, 1000)])], history))
    assert [r["name"] for r in rows if r["by"] == "category"] == ["gradient"]


def test_a_short_rise_is_a_spike_with_its_stack(tmp_path: Path) -> None:
    history = History().alloc(0, 1000, "weights")
    for at in (4096, 8192):
        history.alloc(at, 400, "temporary").alloc(at + 1024, 100, "small").free(at + 1024, 100).free(at, 400)
    rows = _asked("memory_spikes", tmp_path, snapshot([segment(0, [_live(1024, 1000)])], history))
    assert [(r["top_bytes"], r["rise_bytes"], r["transient_bytes"], r["largest_bytes"], r["place"]) for r in rows] == [
        (1500, 500, 500, 400, "/home/me/train.py(1): temporary")
    ] * 2
    assert rows[0]["dur"] == 4000
    assert rows[0]["ts"] < rows[1]["ts"]


def test_a_rise_that_stays_is_no_spike(tmp_path: Path) -> None:
    history = History().alloc(0, 1000, "weights").alloc(1024, 500, "state")
    live = [_live(1024, 1000), _live(512, 500)]
    assert _asked("memory_spikes", tmp_path, snapshot([segment(0, live)], history)) == []


@given(st.lists(st.integers(0, 20), min_size=1, max_size=40), st.integers(1, 10))
def test_spikes_rise_above_both_valleys(level: list[int], least: int) -> None:
    for spike in spikes(np.array(level, np.int64), least):
        left, right = level[spike.before : spike.top + 1], level[spike.top : spike.after + 1]
        assert spike.rise == level[spike.top] - max(min(left), min(right)) >= least
        assert max(left + right) == level[spike.top]


def _steps(count: int) -> list[dict[str, Any]]:
    from readers.memsnapshot.snapshots import T0

    return [
        {"stage": stage, "name": f"ProfilerStep#{number}", "device": 0, "time_us": T0 + 10 * number + offset}
        for number in range(count) for stage, offset in (("START", 0), ("END", 10))
    ]  # fmt: skip


def _leaking(steps: int, leaks: int) -> dict[str, Any]:
    """Each step has ten entries: weights in the first, then a leak in some, and temporaries."""
    history, live = History(), []
    for step in range(steps):
        base = step * (1 << 20)
        if step == 0 or step <= leaks:
            history.alloc(base, 1000, "leak" if step else "weights")
            live.append(segment(base, [_live(1024, 1000)]))
        while len(history.entries) < 10 * (step + 1) - 3:
            history.add("snapshot", 0, 0)
        history.alloc(base + 8192, 50, "temporary").free(base + 8192, 50)
    return snapshot(live, history, external_annotations=_steps(steps))


@pytest.mark.parametrize(("leaks", "candidate"), [(5, True), (3, True), (2, False)])
def test_what_grows_in_three_steps_or_more_is_a_candidate(tmp_path: Path, leaks: int, candidate: bool) -> None:
    rows = _asked("memory_unreturned", tmp_path, _leaking(6, leaks))
    found = {r["place"].split(": ")[1]: r for r in rows}
    assert set(found) == {"weights", "leak"}
    assert found["weights"]["is_candidate"] is False
    assert found["leak"]["is_candidate"] is candidate
    assert (found["leak"]["count"], found["leak"]["bytes"], found["leak"]["steps"]) == (leaks, 1000 * leaks, leaks)
    assert found["leak"]["bytes_per_step"] == 1000 * min(leaks, 4) // 4


def test_without_steps_a_leak_can_not_be_told(tmp_path: Path) -> None:
    content = _leaking(6, 5)
    del content["external_annotations"]
    rows = _asked("memory_unreturned", tmp_path, content)
    assert {r["is_candidate"] for r in rows} == {None} == {r["bytes_per_step"] for r in rows}


def test_segments_taken_again_after_they_were_given_back(tmp_path: Path) -> None:
    history = History()
    for _ in range(3):
        history.add("segment_alloc", 0, 2 * MIB).alloc(0, 100).free(0, 100).add("segment_free", 0, 2 * MIB)
    history.add("segment_map", 1 << 30, 20 * MIB)
    rows = _asked("segment_churn", tmp_path, snapshot([segment(1 << 30, [block(20 * MIB)])], history))
    columns = ("kind", "bytes", "taken", "given_back", "taken_again", "calls_per_1000_allocs", "at_most_ns")
    assert [tuple(r[name] for name in columns) for r in rows] == [
        ("segment", None, 3, 3, 2, 2000.0, 5000), ("segment", 2 * MIB, 3, 3, 2, 2000.0, 5000),
        ("mapping", None, 1, 0, 0, 1000 / 3, 1000), ("mapping", 20 * MIB, 1, 0, 0, 1000 / 3, 1000),
    ]  # fmt: skip


_GIB = 1 << 30


@pytest.mark.parametrize(
    ("requested", "device_free", "held", "memory", "expected"),
    [
        (2 * _GIB, 0, FreeLayout(10 * _GIB, 2 * _GIB, 0, _GIB), None, "fragmentation"),
        (2 * _GIB, 0, FreeLayout(10 * _GIB, 2 * _GIB - 1, 0, _GIB), None, "shortage"),
        (2 * _GIB, 2 * _GIB, FreeLayout(10 * _GIB, 0, 0, 0), None, "limit"),
        (2 * _GIB, _GIB, FreeLayout(_GIB - 1, 0, 0, 0), None, "another process"),
        (2 * _GIB, _GIB, FreeLayout(_GIB, 0, 0, 0), None, "shortage"),
        (2 * _GIB, _GIB, FreeLayout(10 * _GIB, 0, 0, 0), 80 * _GIB, "another process"),
        (2 * _GIB, _GIB, FreeLayout(60 * _GIB, 0, 0, 0), 80 * _GIB, "shortage"),
        (2 * _GIB, None, FreeLayout(_GIB, 0, 0, 0), None, "shortage"),
        (None, 0, FreeLayout(0, 0, 0, 0), None, "unknown"),
    ],
)
def test_verdicts(
    requested: int | None, device_free: int | None, held: FreeLayout, memory: int | None, expected: str
) -> None:
    assert verdict(requested, device_free, held, memory) == expected


def test_an_allocation_that_failed_for_fragmentation_though_more_happened_later(tmp_path: Path) -> None:
    """Two segments with a block in the middle of each; after the failure all is freed and one is given back."""
    history = History()
    for base in (0, 1 << 30):
        history.add("segment_alloc", base, 20 * MIB)
        history.alloc(base, 8 * MIB).alloc(base + 8 * MIB, 4 * MIB, "middle").free(base, 8 * MIB)
    history.add("oom", None, 12 * MIB, "main", device_free=MIB)
    history.free(8 * MIB, 4 * MIB).add("segment_free", 0, 20 * MIB)
    end = segment(1 << 30, [block(8 * MIB), _live(4 * MIB), block(8 * MIB)])
    [row] = _asked("out_of_memory", tmp_path, snapshot([end], history))
    expected = {
        "verdict": "fragmentation", "requested_bytes": 12 * MIB, "device_free_bytes": MIB, "reserved_bytes": 40 * MIB,
        "used_bytes": 8 * MIB, "free_bytes": 32 * MIB, "stranded_bytes": 32 * MIB, "largest_free_bytes": 8 * MIB,
        "place": "/home/me/train.py(1): main",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_mapped_parts_of_expandable_segments_are_one_range(tmp_path: Path) -> None:
    """20 MiB are mapped in two parts; at the failure only the first was there, later it grew by a third."""
    history = History().add("segment_map", 0, 10 * MIB).add("segment_map", 10 * MIB, 10 * MIB).alloc(5 * MIB, 10 * MIB)
    history.add("oom", None, 12 * MIB, device_free=0).add("segment_unmap", 15 * MIB, 5 * MIB)
    history.add("segment_map", 15 * MIB, 25 * MIB)
    end = segment(0, [block(5 * MIB), _live(10 * MIB), block(25 * MIB)], is_expandable=True)
    [row] = _asked("out_of_memory", tmp_path, snapshot([end], history))
    assert (row["reserved_bytes"], row["free_bytes"], row["largest_free_bytes"]) == (20 * MIB, 10 * MIB, 5 * MIB)
    assert row["verdict"] == "shortage"


@pytest.mark.parametrize(
    "name",
    ["memory_snapshot", "memory_pools", "allocator_timeline", "memory_peak_stacks", "memory_spikes",
     "memory_unreturned", "segment_churn", "out_of_memory"],
)  # fmt: skip
def test_without_a_snapshot_they_abstain(name: str) -> None:
    facts = Facts()
    facts.kernel("k", 0, 10, launch=(0, 1))
    with pytest.raises(MissingInputError) as error:
        analyses()[name].run(facts.trace())
    assert error.value.hint
