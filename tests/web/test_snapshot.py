"""What a memory snapshot draws: small history in, allocations and segments out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readers.memsnapshot.snapshots import MIB, History, block, segment, snapshot, trace_of
from stepscope.model.errors import UserError
from stepscope.web.routes.history import state_after
from stepscope.web.routes.snapshot import allocations, frames_of, segments

#: 4 MiB stay; 2 MiB live from the second entry to the fourth; 1 MiB is made last and stays.
HISTORY = History().alloc(0, 4 * MIB, "keep").alloc(4 * MIB, 2 * MIB, "pass_by").free(4 * MIB, 2 * MIB)
CONTENT = snapshot(
    [
        segment(0, [block(4 * MIB, "active_allocated"), block(2 * MIB)]),
        segment(64 * MIB, [block(MIB, "active_allocated")]),
    ],
    HISTORY.alloc(64 * MIB, MIB, "late"),
)


def spans(found: dict[str, Any]) -> list[tuple[int, int, int]]:
    at = [found["columns"].index(name) for name in ("made", "freed", "bytes")]
    return [tuple(row[i] for i in at) for row in found["rows"]]


def test_allocations_with_their_lives(tmp_path: Path) -> None:
    with trace_of(tmp_path, CONTENT) as trace:
        found = allocations(trace, 0)
    assert (found["low"], found["high"], found["count"], found["rest"]) == (0, 5, 3, [])
    assert spans(found) == [(0, 5, 4 * MIB), (1, 2, 2 * MIB), (4, 5, MIB)]


def test_the_others_are_one_area(tmp_path: Path) -> None:
    with trace_of(tmp_path, CONTENT) as trace:
        found = allocations(trace, 0, most=1)
    assert spans(found) == [(0, 5, 4 * MIB)]
    assert len(found["rest"]) == 500
    # 2 MiB from the second of five entries to the third, then nothing, then 1 MiB.
    assert [found["rest"][100 * entry] for entry in range(5)] == [0, 2 * MIB, 0, 0, MIB]


def test_segments_with_their_blocks(tmp_path: Path) -> None:
    with trace_of(tmp_path, CONTENT) as trace:
        found = segments(trace, 0)["segments"]
        assert segments(trace, 1) == {"segments": []}
    assert [(one["address"], one["bytes"]) for one in found] == [(0, 6 * MIB), (64 * MIB, MIB)]
    assert [(b["bytes"], b["state"]) for b in found[0]["blocks"]] == [(4 * MIB, "active"), (2 * MIB, "inactive")]


def test_the_frames_of_a_stack(tmp_path: Path) -> None:
    with trace_of(tmp_path, CONTENT) as trace:
        stack = trace.scalar("SELECT stack FROM allocations WHERE seq = 1")
        assert frames_of(trace, stack) == ["/home/me/train.py(1): pass_by"]
        assert frames_of(trace, 99) == []


def test_the_state_after_any_event_has_the_segments_and_blocks_of_then(tmp_path: Path) -> None:
    history = History().add("segment_alloc", 0, 6 * MIB).alloc(0, 4 * MIB, "keep").alloc(4 * MIB, 2 * MIB, "pass_by")
    history.free(4 * MIB, 2 * MIB).add("segment_alloc", 64 * MIB, MIB).add("segment_free", 64 * MIB, MIB)
    with trace_of(
        tmp_path, snapshot([segment(0, [block(4 * MIB, "active_allocated"), block(2 * MIB)])], history)
    ) as trace:
        events = trace.rows("SELECT seq, action FROM allocator_events ORDER BY seq")
        first = {row["action"]: row["seq"] for row in reversed(events)}

        def state(seq: int | None) -> list[list[tuple[int, str]]]:
            found = state_after(trace, 0, seq)
            return [[(one["bytes"], one["state"]) for one in part["blocks"]] for part in found["segments"]]

        assert state(-1) == []
        assert state(first["segment_alloc"]) == [[(6 * MIB, "inactive")]]
        assert state(first["alloc"]) == [[(4 * MIB, "active"), (2 * MIB, "inactive")]]
        assert state(first["alloc"] + 1) == [[(4 * MIB, "active"), (2 * MIB, "active")]]
        assert state(first["free_requested"])[0][1] == (2 * MIB, "pending")
        # A segment that was given back since is there while it was.
        assert state(first["segment_free"] - 1)[1] == [(MIB, "inactive")]
        assert state(None) == [[(4 * MIB, "active"), (2 * MIB, "inactive")]]
        found = state_after(trace, 0, first["alloc"])
        assert [row[:2] for row in found["rows"]] == [[row["seq"], row["action"]] for row in events]
        with pytest.raises(UserError, match="no history of device 1"):
            state_after(trace, 1, None)


def test_a_segment_that_grew_is_one_then_and_is_cut_where_it_was_not_mapped(tmp_path: Path) -> None:
    # The second half is mapped, a block lies across both halves, and the half is given back.
    history = History().add("segment_map", 0, 4 * MIB).add("segment_map", 4 * MIB, 4 * MIB).alloc(2 * MIB, 4 * MIB, "a")
    history.free(2 * MIB, 4 * MIB).add("segment_unmap", 4 * MIB, 4 * MIB)
    with trace_of(tmp_path, snapshot([segment(0, [block(4 * MIB)], is_expandable=True)], history)) as trace:

        def state(action: str, last: bool = True) -> tuple[list[tuple[int, int]], list[tuple[int, str]], int]:
            order = "max" if last else "min"
            seq = trace.scalar(f"SELECT {order}(seq) FROM allocator_events WHERE action = ?", [action])
            found = state_after(trace, 0, seq)
            parts = found["segments"]
            blocks = [(one["bytes"] // MIB, one["state"]) for part in parts for one in part["blocks"]]
            return [(one["address"], one["bytes"] // MIB) for one in parts], blocks, found["active"] // MIB

        assert state("segment_map", last=False) == ([(0, 4)], [(4, "inactive")], 0)
        assert state("segment_map") == ([(0, 8)], [(8, "inactive")], 0)
        assert state("alloc") == ([(0, 8)], [(2, "inactive"), (4, "active"), (2, "inactive")], 4)
        assert state("free_completed") == ([(0, 8)], [(8, "inactive")], 0)
        assert state("segment_unmap") == ([(0, 4)], [(4, "inactive")], 0)


def test_blocks_that_are_not_sent_still_count(tmp_path: Path) -> None:
    with trace_of(tmp_path, CONTENT) as trace:
        found = state_after(trace, 0, None, most=1)
        whole = state_after(trace, 0, None)
    blocks = [[(one["bytes"], one["state"]) for one in part["blocks"]] for part in found["segments"]]
    assert blocks == [[(4 * MIB, "active"), (2 * MIB, "inactive")], [(MIB, "unknown")]]
    assert (found["left"], found["active"], found["pending"]) == (1, 5 * MIB, 0)
    assert (whole["left"], whole["active"], whole["pending"]) == (0, 5 * MIB, 0)


def test_segments_that_contradict_each_other_count_once(tmp_path: Path) -> None:
    # What was given back lies on what is there at the end: one byte is in one segment only.
    history = History().add("segment_alloc", MIB, 2 * MIB).add("segment_free", MIB, 2 * MIB).add("snapshot", 0, 0)
    with trace_of(tmp_path, snapshot([segment(0, [block(4 * MIB)])], history)) as trace:
        found = state_after(trace, 0, 0)["segments"]
    assert [(one["address"], one["bytes"]) for one in found] == [(0, MIB), (MIB, 2 * MIB), (3 * MIB, MIB)]


@pytest.mark.parametrize("seq", [-(1 << 62), 1 << 62])
def test_moments_outside_the_history_are_its_ends(tmp_path: Path, seq: int) -> None:
    with trace_of(tmp_path, CONTENT) as trace:
        found = state_after(trace, 0, seq)
        assert found["seq"] == (found["low"] - 1 if seq < 0 else found["high"])
        with pytest.raises(UserError):
            state_after(trace, 1 << 62, seq)


def test_another_device_has_none(tmp_path: Path) -> None:
    with trace_of(tmp_path, CONTENT) as trace:
        assert allocations(trace, 1)["rows"] == []
