"""Timelines of `export_memory_timeline`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from readers.memsnapshot.snapshots import health, opened, table
from stepscope.model.errors import UserError

_RAW = [[-1, 1, 1000, 0], [5_000, 2, 200, 4], [6_000, 3, -200, 4], [6_000, 3, 200, 5], [7_500, 4, -200, 5]]


@pytest.mark.parametrize("packed", [False, True])
def test_raw_timelines_give_allocations_and_bytes_by_category(tmp_path: Path, packed: bool) -> None:
    target = tmp_path / "timeline.raw"
    data = json.dumps(_RAW).encode()
    target.write_bytes(gzip.compress(data) if packed else data)
    with opened(target) as trace:
        assert table(trace, "SELECT ts, bytes, allocated FROM memory") == [
            (0, 1000, 1000),
            (0, 200, 1200),
            (2500, -200, 1000),
        ]
        assert table(trace, "SELECT ts, name, value FROM counters ORDER BY ts, name, value") == [
            (0, "activation", 200.0), (0, "parameter", 1000.0), (1000, "activation", 0.0), (1000, "gradient", 200.0),
            (2500, "gradient", 0.0),
        ]  # fmt: skip
        ends = "SELECT action, bytes, category FROM allocator_events WHERE seq IN (0, 4) ORDER BY seq"
        assert table(trace, ends) == [
            ("preexisting", 1000, "parameter"), ("destroy", 200, "gradient"),
        ]  # fmt: skip
        assert table(trace, "SELECT name, ts, dur FROM events") == [("memory timeline", 0, 2500)]


def test_timelines_summed_up_have_nine_columns(tmp_path: Path) -> None:
    target = tmp_path / "timeline.json"
    rows = [[0, 100, 0, 0, 7, 0, 0, 0, 0], [0, 100, 0, 0, 0, 0, 50, 0, 3], "nonsense"]
    target.write_text(json.dumps([[1000, 1001, 1002], [*rows[:2], [0]]]))
    with opened(target) as trace:
        assert table(trace, "SELECT ts, allocated FROM memory") == [(0, 107), (1000, 153)]
        assert table(trace, "SELECT DISTINCT name FROM counters ORDER BY 1") == [
            ("gradient",), ("parameter",), ("temporary",), ("unknown",),
        ]  # fmt: skip
        assert health(trace)["rows-skipped"] == 1


def test_lists_of_other_numbers_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "numbers.json"
    target.write_text("[[1, 2, 3], [4, 5, 6]]")
    with pytest.raises(UserError, match="neither a memory snapshot nor a memory timeline"):
        opened(target)
