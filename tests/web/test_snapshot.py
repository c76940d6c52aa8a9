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


def test_another_device_has_none(tmp_path: Path) -> None:
    with trace_of(tmp_path, CONTENT) as trace:
        assert allocations(trace, 1)["rows"] == []
