from __future__ import annotations

from typing import Any

import pytest

from rule_support import drafts, figures
from rules.memory.makeups import GIB, MIB, makeup
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import memory
from stepscope.signals.shared import job
from stepscope.signals.snapshots import allocator, peak_makeup, split_size

RETRY: dict[str, Any] = {
    "cause": "retry", "ts": 7, "requested_bytes": 4970 * MIB, "segments": 10, "bytes": 7800 * MIB, "dur": 430_000_000,
    "place": "/home/me/proj/net.py(77): update", "frames": ["/v/torch/nn/functional.py(9): batch_norm"],
}  # fmt: skip


def given(*rows: dict[str, Any], failed: tuple[Any, ...] = ()) -> dict[object, object]:
    return {
        allocator.flushes: rows, allocator.history_ns: 12_300_000_000, job.step_ns: 12_300_000_000,
        memory.failures: failed, peak_makeup.makeup: makeup(temporaries=18 * GIB),
    }  # fmt: skip


def test_the_request_the_line_and_the_price_are_named() -> None:
    (draft,) = drafts("MEM011", given(RETRY))
    assert figures(draft.title)[-1] == "net.py:77"
    assert {"10", "12.3 s", "3.5 %", "4.85 GiB", "430 ms", "7.62 GiB", "batch_norm", "net.py:77"} <= set(
        figures(draft.summary)
    )
    assert draft.cost_ns == 430_000_000
    assert draft.always
    # Of the settings only the first: to lower the peak is the better remedy.
    (draft,) = drafts("MEM011", {**given(RETRY), split_size.split_size_mb: 128})
    assert [action.page for action in draft.actions][1:] == ["memory-fragmentation"]
    assert "expandable_segments:True" in draft.actions[1].after


def test_several_times_are_one_finding_about_the_largest() -> None:
    (draft,) = drafts("MEM011", given({**RETRY, "requested_bytes": MIB, "dur": 1}, RETRY))
    assert {"2"} <= set(figures(draft.summary))
    assert draft.cost_ns == 430_000_001


def test_without_times_or_with_a_failure_there_is_no_price() -> None:
    assert drafts("MEM011", {**given(RETRY), allocator.history_ns: None})[0].cost_ns is None
    assert drafts("MEM011", given(RETRY, failed=({},)))[0].cost_ns is None


@pytest.mark.parametrize("cause", ["empty_cache", "failed", "garbage_collection", "unknown"])
def test_other_causes_are_other_findings(cause: str) -> None:
    assert drafts("MEM011", given({**RETRY, "cause": cause})) == []


def test_without_a_history_it_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM011", {})


def test_what_the_peak_was_made_of_is_said_where_it_is_known() -> None:
    (known,) = drafts("MEM011", given(RETRY))
    without = {signal: value for signal, value in given(RETRY).items() if signal is not peak_makeup.makeup}
    (unknown,) = drafts("MEM011", without)
    assert known.summary.startswith(unknown.summary)
    assert len(known.summary) > len(unknown.summary) + 10
