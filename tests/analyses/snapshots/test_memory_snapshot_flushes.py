"""What made the allocator give its cache back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readers.memsnapshot.snapshots import MIB, History, frame, snapshot, trace_of
from stepscope.analyses.snapshots.memory_snapshot_flushes import cache_flushes
from stepscope.model.errors import MissingInputError
from support import Facts

_EMPTY = [frame("empty_cache", "/v/site-packages/torch/cuda/memory.py", 170), frame("loop", line=7)]
_UPDATE = [frame("update", line=77)]


def _rows(folder: Path, history: History, **more: Any) -> list[tuple[Any, ...]]:
    with trace_of(folder, snapshot([], history, **more)) as trace:
        columns = ("cause", "place", "segments", "bytes", "dur", "taken_after", "requested_bytes")
        return [tuple(row[name] for name in columns) for row in cache_flushes(trace).records()]


def test_the_program_empties_the_cache(tmp_path: Path) -> None:
    history = History().add("segment_alloc", 0, 2 * MIB)
    for _ in range(2):
        history.alloc(0, MIB, "main").free(0, MIB)
        history.add("segment_free", 0, 2 * MIB, frames=_EMPTY).add("segment_free", 1, 4 * MIB, frames=_EMPTY)
        history.add("segment_alloc", 0, 2 * MIB)
    place = "/home/me/train.py(7): loop"
    assert _rows(tmp_path, history) == [("empty_cache", place, 2, 6 * MIB, 1000, 1, None)] * 2


def test_an_allocation_failed_and_was_tried_again(tmp_path: Path) -> None:
    history = History().add("segment_free", 0, 2 * MIB, frames=_UPDATE).add("segment_free", 1, 4 * MIB, frames=_UPDATE)
    history.add("segment_alloc", 0, 8 * MIB, frames=_UPDATE).alloc(0, 7 * MIB, frames=_UPDATE)
    expected = ("/home/me/train.py(77): update", 2, 6 * MIB, 2000, 1, 7 * MIB)
    assert _rows(tmp_path, history) == [("retry", *expected)]
    collecting = {"garbage_collection_threshold": 0.8}
    assert _rows(tmp_path, history, allocator_settings=collecting) == [("garbage_collection", *expected)]


def test_an_allocation_failed_for_good(tmp_path: Path) -> None:
    history = History().alloc(0, MIB).add("segment_free", 1, 2 * MIB)
    history.add("oom", None, 9 * MIB, device_free=MIB)
    assert _rows(tmp_path, history) == [("failed", "unknown", 1, 2 * MIB, 1000, 0, 9 * MIB)]


def test_without_stacks_or_with_other_ones_the_cause_is_unknown(tmp_path: Path) -> None:
    history = History().add("segment_free", 0, 2 * MIB).add("segment_alloc", 0, 4 * MIB).alloc(0, 3 * MIB)
    history.add("segment_free", 0, 4 * MIB, "one").add("segment_alloc", 0, 8 * MIB, "other")
    assert [row[0] for row in _rows(tmp_path, history)] == ["unknown", "unknown"]


def test_without_a_history_it_abstains(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError):
        _rows(tmp_path, History().add("snapshot", 0, 0))
    with pytest.raises(MissingInputError):
        cache_flushes(Facts().trace())
