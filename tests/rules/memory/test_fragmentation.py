from __future__ import annotations

import pytest

from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals import job, memory

GIB = 1 << 30


def given(share: float, stranded: int = 8 * GIB, peak: int = 20 * GIB) -> dict[object, object]:
    row = {
        "device": 0,
        "stranded_share": share,
        "stranded_bytes": stranded,
        "reserved_bytes": 32 * GIB,
        "largest_free_bytes": GIB // 4,
        "peak_bytes": peak,
    }
    return {memory.snapshot: row, memory.failures: (), job.platform: "cuda"}


def test_stranded_memory_is_found_with_the_peak() -> None:
    (draft,) = drafts("MEM003", given(0.25))
    assert "8.00 GiB (25.0 % of what the allocator holds) are free" in draft.summary
    assert "At the recorded peak 62.5 %" in draft.summary
    assert draft.confidence == 0.8


def test_memory_that_was_full_at_the_peak_lowers_the_confidence() -> None:
    assert drafts("MEM003", given(0.25, peak=30 * GIB))[0].confidence == 0.5


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM003", given(0.2499)) == []
    assert drafts("MEM003", given(0.25, GIB - 1)) == []
    assert len(drafts("MEM003", given(0.25, GIB))) == 1


def test_an_allocation_that_failed_with_enough_free_is_found() -> None:
    failed = {"ts": 1, "verdict": "fragmentation", "requested_bytes": GIB, "free_bytes": 5 * GIB,
              "largest_free_bytes": GIB // 2}  # fmt: skip
    (draft,) = drafts("MEM003", {memory.failures: (failed,), job.platform: "npu"})
    assert "An allocation of 1.00 GiB failed with 5.00 GiB free" in draft.summary
    assert "PYTORCH_NPU_ALLOC_CONF" in draft.actions[0].after


def test_without_a_snapshot_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM003", {memory.failures: ()})
