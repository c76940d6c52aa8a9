"""Real snapshots agree with a second opinion recorded beside them, and with a slow recomputation."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from readers.conformance import check_invariants, check_sniffing, check_splits
from readers.memsnapshot.snapshots import health, opened, table
from stepscope.analyses.registry import analyses
from stepscope.analyses.snapshots.memory_snapshot import memory_snapshot
from stepscope.model.errors import MissingInputError
from support import recorded_trace, shared, shared_traces

_FOLDER = (shared_traces() or Path()) / "memory"
RECORDINGS = sorted(path.name for path in _FOLDER.glob("*.pickle")) if shared_traces() else []

pytestmark = pytest.mark.skipif(not RECORDINGS, reason="the shared recordings are not beside this checkout")


class _Plain(pickle.Unpickler):
    def find_class(self, *name: str) -> Any:
        raise pickle.UnpicklingError(name)


def _loaded(name: str) -> dict[str, Any]:
    with shared("memory", name).open("rb") as file:
        content: dict[str, Any] = _Plain(file).load()
    return content


def _walked(content: dict[str, Any]) -> dict[str, int]:
    """Peak and lost frees of device 0, entry by entry with a dictionary of what is live."""
    history = content["device_traces"][0]
    live: dict[int, int] = {}
    made: set[int] = set()
    base = 0
    lost = 0
    for entry in history:
        if entry["action"] == "alloc":
            live[entry["addr"]] = entry["size"]
            made.add(entry["addr"])
        elif entry["action"] == "free_requested" and entry["addr"] not in made:
            base += entry["size"]
        elif entry["action"] == "free_completed":
            lost += live.pop(entry["addr"], None) is None
    for segment in content["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive" and at not in live:
                base += block["requested_size"]
            at += block["size"]
    level = peak = base
    for entry in history:
        level += {"alloc": 1, "free_requested": -1}.get(entry["action"], 0) * entry["size"]
        peak = max(peak, level)
    return {"peak": peak, "lost": lost, "at_end": level}


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_conforms_and_every_analysis_answers_or_abstains(name: str) -> None:
    path = shared("memory", name)
    check_sniffing(path)
    with opened(path) as trace:
        check_invariants(trace)
        check_splits(trace)
        answered, hints = set(), []
        for analysis in analyses().values():
            try:
                analysis.run(trace)
                answered.add(analysis.name)
            except MissingInputError as error:
                hints.append(error.hint)
        assert all(hints)
        assert answered >= {"memory_snapshot", "memory_pools", "memory_peak_stacks", "out_of_memory"}


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_state_agrees_with_the_second_opinion(name: str) -> None:
    expected = json.loads((_FOLDER / "expected_second_opinion.json").read_text())[name]["devices"]
    with recorded_trace("memory", name) as trace:
        rows = memory_snapshot(trace).records()
        blocks = dict(table(trace, "SELECT state, count(*) FROM blocks GROUP BY 1"))
    assert [str(row["device"]) for row in rows] == sorted(expected)
    for row in rows:
        want = expected[str(row["device"])]
        assert row["segments"] == want["segments"]
        assert row["reserved_bytes"] == want["reserved"]
        assert row["allocated_bytes"] == want["allocated"] == want["bytes_active_allocated"]
        assert row["active_bytes"] == want["active"]
        assert row["requested_bytes"] == want["requested"]
        assert row["rounding_bytes"] == want["round_waste"]
        assert row["inactive_bytes"] == want["bytes_inactive"]
        assert row["releasable_bytes"] == want.get("empty_segment_bytes", 0)
        assert row["largest_free_bytes"] == want["largest_inactive"]
        assert round(100 * row["cached_share"], 2) == want["frag_inactive_pct"]
        assert round(100 * row["stranded_share"], 2) == want["stranded_pct"]
        assert (blocks["active"], blocks["inactive"]) == (want["blocks_active_allocated"], want["blocks_inactive"])


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_history_agrees_with_the_second_opinion(name: str) -> None:
    """Its peak starts from nothing, so it agrees where nothing is older than the history, and else is too low."""
    [expected] = json.loads((_FOLDER / "expected_second_opinion.json").read_text())[name]["traces"].values()
    with recorded_trace("memory", name) as trace:
        [row] = memory_snapshot(trace).records()
        actions = dict(table(trace, "SELECT action, count(*) FROM allocator_events GROUP BY 1"))
        sizes = dict(table(trace, "SELECT action, sum(bytes)::BIGINT FROM allocator_events GROUP BY 1"))
        found = health(trace)
        made = table(
            trace, "SELECT count(*), sum(requested)::BIGINT FROM allocations WHERE seq >= 0 AND freed_seq IS NULL"
        )
    assert actions == expected["actions"]
    assert sizes == expected["bytes"]
    if sum(expected["actions"].values()) > 1:
        assert found.get("history-older", 0) == expected["frees_without_alloc"]
    assert "history-lost" not in found, "none of these histories is as long as a limit"
    assert made == [(expected["live_at_end"], expected["live_bytes_at_end"] or None)]
    assert round(row["segment_calls_per_1000_allocs"] or 0, 1) == (expected["segment_calls_per_1000_allocs"] or 0)
    if row["peak_is_lower_bound"]:
        assert row["peak_bytes"] >= expected["peak_of_recorded_allocs"]
    else:
        assert row["peak_bytes"] == expected["peak_of_recorded_allocs"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_levels_agree_with_a_walk_through_the_history(name: str) -> None:
    content = _loaded(name)
    walked = _walked(content)
    with recorded_trace("memory", name) as trace:
        [row] = memory_snapshot(trace).records()
        last = trace.scalar(
            "SELECT last(allocated ORDER BY ts, rowid) FROM (SELECT *, row_number() OVER () AS rowid FROM memory)"
        )
        stacks = Counter(dict(table(trace, "SELECT stack, count(*) FROM allocator_events WHERE stack >= 0 GROUP BY 1")))
        peak = table(trace, "SELECT max(allocated) FROM memory")
        older = health(trace).get("history-older", 0)
    if len(content["device_traces"][0]) > 1:
        assert older == walked["lost"]
    assert row["peak_bytes"] == walked["peak"]
    assert peak == [(walked["peak"],)]
    assert last == walked["at_end"] == row["requested_bytes"]
    recorded = Counter(
        tuple((f["filename"], f["line"], f["name"]) for f in entry["frames"])
        for entry in content["device_traces"][0] if entry.get("frames")
    )  # fmt: skip
    assert sorted(stacks.values()) == sorted(recorded.values())


def test_rings_that_lost_their_start_and_late_starts_make_peaks_lower_bounds() -> None:
    bounds = {}
    for name in RECORDINGS:
        with recorded_trace("memory", name) as trace:
            [row] = memory_snapshot(trace).records()
            bounds[name.removesuffix(".pickle")] = row["peak_is_lower_bound"]
    assert bounds == {
        "annotated_training": False, "train_ctx150": False, "train_ctx200_mixed": False,
        "forward_bf16": True, "forward_fp32": True, "torch20_after_oom": True, "torch20_llm_inference": True,
        "train_1024_stranded": True, "truncated_ring_forward": True,
    }  # fmt: skip


def test_the_parts_of_the_peak_add_up_to_it_in_five_ways() -> None:
    with recorded_trace("memory", "train_ctx150.pickle") as trace:
        [row] = memory_snapshot(trace).records()
        parts: Counter[str] = Counter()
        for held in analyses()["memory_peak_stacks"].run(trace).records():
            parts[held["by"]] += held["bytes"]
    assert parts == dict.fromkeys(("stack", "line", "module", "category", "purpose"), row["peak_bytes"])
