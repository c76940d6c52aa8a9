"""Memory over time, its peaks and holders, and churn between allocator and driver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from series import rounds
from stepscope.analyses.memory.memory_churn import memory_churn
from stepscope.analyses.memory.memory_holders import memory_holders
from stepscope.analyses.memory.memory_peaks import memory_peaks
from stepscope.analyses.memory.memory_steps import memory_steps
from stepscope.analyses.memory.memory_timeline import MOST_POINTS, memory_timeline
from stepscope.model.errors import MissingInputError
from support import Facts, recorded_trace


class Memory(Facts):
    """Allocations and frees of one device, with the totals that a profiler writes."""

    def __init__(self, *, totals: bool = True, device: int | None = 0, before: int = 0, reserved: int = 4096) -> None:
        super().__init__()
        self.totals, self.device, self.level, self.reserved = totals, device, before, reserved

    def change(self, ts: int, size: int, address: int | None = None) -> None:
        self.level += size
        self.reserved = max(self.reserved, self.level)
        totals = {"allocated": self.level, "reserved": self.reserved} if self.totals else {}
        track = self.staging.track("host", process="1", thread="1")
        self.row("raw_memory", ts=ts, track=track, device=self.device, address=address, bytes=size, **totals)


def example(**options: Any) -> Memory:
    f = Memory(**options)
    f.row("devices", device=0, memory_bytes=10_000)
    f.step(0, 0, 100)
    f.step(1, 100, 100)
    f.host("module", "Net", 10, 180)
    f.host("op", "aten::linear", 20, 100)
    f.host("op", "aten::empty", 25, 20)
    f.change(30, 1000, 1)
    f.change(110, 500, 2)
    f.host("op", "aten::relu", 130, 50)
    f.change(135, -1000, 1)
    f.change(140, 2000, 1)
    f.change(150, -500, 2)
    return f


def test_peaks_and_who_held_them() -> None:
    trace = example(before=700).trace()
    [row] = memory_peaks(trace).records()
    assert row == {
        "rank": 0, "device": 0, "total_bytes": 10_000, "peak_bytes": 3200, "peak_is_lower_bound": False, "peak_ts": 140,
        "peak_step": 1, "peak_share": 0.32, "peak_reserved_bytes": 4096, "peak_reserved_ts": 30,
        "peak_reserved_step": 0, "reserved_share": 0.4096, "traced_bytes": 2500, "allocations": 3, "frees": 2,
    }  # fmt: skip
    assert memory_holders(trace).rows() == [
        (0, 0, "aten::relu", "Net", 2000, 1, 2000 / 3200),
        (0, 0, "aten::linear", "Net", 500, 1, 500 / 3200),
    ]


def test_without_totals_the_peak_is_a_lower_bound() -> None:
    [row] = memory_peaks(example(totals=False).trace()).records()
    assert (row["peak_bytes"], row["peak_is_lower_bound"], row["traced_bytes"]) == (2500, True, 2500)
    assert row["peak_reserved_bytes"] is row["peak_reserved_ts"] is row["reserved_share"] is None


def test_frees_of_what_was_allocated_before_raise_the_level_at_the_start() -> None:
    f = Memory(totals=False)
    f.change(0, -300, 5)
    f.change(10, 100, 6)
    f.change(20, -200, 7)
    trace = f.trace()
    assert memory_timeline(trace).column("allocated_bytes") == [100, 200, 0]
    assert memory_peaks(trace).column("peak_bytes") == [200]


def test_without_addresses_nobody_is_known_to_hold_anything() -> None:
    f = Memory()
    f.change(0, 100)
    trace = f.trace()
    assert memory_peaks(trace).column("traced_bytes") == [None]
    assert len(memory_holders(trace)) == 0


def test_what_no_event_encloses_is_held_by_nobody() -> None:
    f = Memory()
    f.change(0, 100, 1)
    f.host("op", "aten::relu", 10, 5)
    f.host("op", "aten::add", 40, 5)
    f.change(20, 60, 2)
    assert memory_holders(f.trace()).rows() == [(0, 0, None, None, 160, 2, 1.0)]


def test_host_memory_has_its_own_rows() -> None:
    f = Memory(device=None)
    f.change(0, 100, 1)
    f.row("raw_memory", ts=5, device=1, address=1, bytes=70, allocated=70)
    trace = f.trace()
    assert [(row["device"], row["peak_bytes"]) for row in memory_peaks(trace).records()] == [(1, 70), (None, 100)]


def test_a_long_timeline_keeps_highs_and_lows() -> None:
    f = Memory()
    f.change(10, 1)
    changes = np.ones(3 * MOST_POINTS, np.int64)
    changes[4321:4323] = 5000, -5000
    level = changes.cumsum()
    reserved = np.maximum(np.maximum.accumulate(level), 4096)
    # All but the first, at once.
    f.staging.connection.register(
        "rest", pa.table({"n": np.arange(2, level.size + 1), "b": changes[1:], "a": level[1:], "r": reserved[1:]})
    )
    f.staging.connection.execute(
        "INSERT INTO raw_memory BY NAME SELECT 10 * n AS ts, track, device, b AS bytes, a AS allocated, r AS reserved "
        "FROM rest, (SELECT track, device FROM raw_memory)"
    )
    table = memory_timeline(f.trace())
    assert len(table) == MOST_POINTS
    top = max(table.records(), key=lambda row: row["allocated_bytes"])
    assert (top["ts"], top["allocated_bytes"]) == (43220, 4321 + 5000)
    assert max(table.column("reserved_bytes")) == 4321 + 5000
    assert table.column("least_allocated_bytes")[0] == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 1000)), min_size=1, max_size=40))
@settings(deadline=None, max_examples=rounds(25, 4))
def test_traced_bytes_are_those_of_the_live_allocations(changes: list[tuple[int, int]]) -> None:
    f, live = Memory(), {}
    levels: list[tuple[int, int]] = []
    for ts, (address, size) in enumerate(changes):
        freed = live.pop(address, None)
        if freed is None:
            live[address] = size
        f.change(ts, size if freed is None else -freed, address)
        levels.append((sum(live.values()), ts))
    peak = int(np.argmax([level for level, _ in levels]))
    [row] = memory_peaks(f.trace()).records()
    assert (row["peak_bytes"], row["peak_ts"], row["traced_bytes"]) == (levels[peak][0], peak, levels[peak][0])


def test_churn_by_step() -> None:
    f = Memory(reserved=1000)
    f.step(0, 0, 100)
    f.step(1, 100, 100)
    f.change(10, 500, 1)
    f.change(20, 700, 2)  # reserved grows by 200
    f.host("runtime", "cudaMalloc", 18, 5)
    f.host("runtime", "cudaHostAlloc", 30, 5)
    f.reserved = 900
    f.change(110, -500, 1)  # it shrinks by 300
    f.host("runtime", "cudaFree", 108, 7)
    f.change(120, 600, 3)  # and grows by 400
    f.host("runtime", "hipMalloc", 115, 3)
    first, second, whole = memory_churn(f.trace()).records()
    assert (first["allocations"], first["growths"], first["grown_bytes"], first["shrinks"]) == (2, 1, 200, 0)
    assert (first["driver_allocations"], first["driver_allocation_ns"], first["driver_frees"]) == (1, 5, 0)
    assert (second["allocations"], second["frees"], second["growths"], second["shrinks"]) == (1, 1, 1, 1)
    assert (second["grown_bytes"], second["shrunk_bytes"], second["driver_free_ns"]) == (400, 300, 7)
    assert (whole["step"], whole["changes_per_1000"], whole["driver_allocations"]) == (None, 1000.0, 2)
    assert (whole["allocated_bytes"], whole["driver_allocation_ns"]) == (1800, 8)


def test_churn_from_calls_alone() -> None:
    f = Facts()
    f.host("runtime", "aclrtMalloc", 0, 5)
    *_, whole = memory_churn(f.trace()).records()
    assert (whole["allocations"], whole["growths"], whole["changes_per_1000"]) == (0, None, None)
    assert (whole["driver_allocations"], whole["driver_allocation_ns"]) == (1, 5)


def test_without_allocations_they_abstain() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    trace = f.trace()
    for analysis in (memory_timeline, memory_peaks, memory_holders, memory_churn):
        with pytest.raises(MissingInputError):
            analysis(trace)


@pytest.mark.parametrize("recording", ["h100_bert_small", "mi300_bert_small", "h100_qwen05b_infer"])
def test_what_is_traced_at_a_real_peak_is_what_was_added_since_the_start(recording: str) -> None:
    trace = recorded_trace("kineto", recording, "trace.json.gz")
    [row] = [row for row in memory_peaks(trace).records() if row["device"] is not None]
    start = trace.scalar("SELECT allocated - bytes FROM memory WHERE device IS NOT NULL ORDER BY ts LIMIT 1")
    assert row["traced_bytes"] == row["peak_bytes"] - start
    held = sum(r["bytes"] for r in memory_holders(trace).records() if r["device"] is not None)
    assert held == row["traced_bytes"]


def test_peak_and_rest_of_each_step() -> None:
    rows = memory_steps(example(before=700).trace()).rows()
    assert rows == [
        (0, 0, 0, 0, False, 700, 1700, 1700, 1), (0, 0, 1, 100, True, 1700, 3200, 2700, 2),
    ]  # fmt: skip


def test_steps_without_any_change_have_the_level_before() -> None:
    f = example()
    f.step(2, 200, 100)
    f.host("op", "aten::mm", 290, 5)  # something ended it
    assert memory_steps(f.trace()).rows()[-1] == (0, 0, 2, 200, True, 2000, 2000, 2000, 0)
    with pytest.raises(MissingInputError):
        memory_steps(Facts().trace())
