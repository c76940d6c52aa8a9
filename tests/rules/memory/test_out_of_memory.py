from __future__ import annotations

from typing import Any

import pytest

from rule_support import drafts, figures
from rules.memory.makeups import GIB, MIB, makeup, part
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import memory
from stepscope.signals.snapshots import peak_makeup, peak_parts
from stepscope.signals.snapshots.kept import KeptBlocks, kept_again

FAILED: dict[str, Any] = {
    "ts": 5, "device": 0, "verdict": "shortage", "requested_bytes": 384 * MIB, "device_free_bytes": 252 * MIB,
    "reserved_bytes": 22 * GIB, "used_bytes": 21 * GIB, "free_bytes": 25 * MIB, "largest_free_bytes": 10 * MIB,
    "place": "/home/me/proj/dit.py(125): forward",
    "frames": ["at::_ops::_softmax::call(at::Tensor const&)", "at::_ops::attend::call(at::Tensor const&)"],
}  # fmt: skip
ACTIVATIONS = makeup(activations=20 * GIB, parameters=GIB)


def given(held: Any = ACTIVATIONS, **row: Any) -> dict[object, object]:
    return {
        memory.failures: ({**FAILED, **row},), peak_makeup.failed_makeups: {0: held},
        peak_parts.scores: part(7 * GIB, 21 * GIB), peak_parts.math_attention: True,
    }  # fmt: skip


def test_it_names_the_place_the_request_and_what_holds_the_memory() -> None:
    (draft,) = drafts("MEM010", given())
    assert figures(draft.title) == ["384 MiB", "dit.py:125"]
    assert figures(draft.summary) == [
        "10.0 MiB",
        "21.0 GiB",
        "21.0 GiB",
        "22.0 GiB",
        "22.2 GiB",
        "25.0 MiB",
        "252 MiB",
        "4.8 %",
        "95.2 %",
        "dit.py:125",
        "model.py:41",
    ]
    assert draft.fate == "failed"
    assert [action.page for action in draft.actions] == ["flash-attention", "activation-checkpointing", "batch-size"]


def test_what_stays_calls_for_another_remedy_than_activations() -> None:
    (draft,) = drafts("MEM010", given(makeup(older_than_the_recording=20 * GIB, activations=GIB)))
    assert [action.page for action in draft.actions] == ["fsdp-zero"]
    (few,) = drafts("MEM010", {**given(), peak_parts.scores: part(GIB, 21 * GIB)})
    assert [action.page for action in few.actions] == ["activation-checkpointing", "batch-size"]
    (unknown,) = drafts("MEM010", {memory.failures: ({**FAILED, "place": "unknown"},)})
    assert figures(unknown.title) == ["384 MiB"]
    assert [action.page for action in unknown.actions] == ["batch-size"]


def test_fragmentation_a_limit_and_others_are_told_apart() -> None:
    (torn,) = drafts("MEM010", given(verdict="fragmentation", free_bytes=3 * GIB))
    assert "expandable_segments:True" in torn.actions[0].after
    assert "22.2 GiB" not in figures(torn.summary)  # enough was free: nobody else is to be blamed
    (limit,) = drafts("MEM010", given(verdict="limit"))
    assert "set_per_process_memory_fraction" in limit.actions[0].text
    (other,) = drafts("MEM010", given(verdict="another process"))
    assert "other process" in other.actions[0].text


def test_where_nearly_all_is_in_use_joining_what_is_free_comes_last() -> None:
    (full,) = drafts("MEM010", given(verdict="fragmentation", free_bytes=2 * GIB))
    assert [action.page for action in full.actions][1:] == ["activation-checkpointing", "batch-size",
                                                            "memory-fragmentation"]  # fmt: skip


def test_what_one_line_never_frees_comes_before_smaller_batches() -> None:
    def kept(size: int) -> dict[object, object]:
        return {**given(), kept_again: KeptBlocks("train.py(97): train", 1, 5, size, size // 5)}

    assert drafts("MEM010", kept(6 * GIB))[0].actions[0].page == "memory-leaks"
    assert drafts("MEM010", kept(5 * GIB))[0].actions[0].page == "flash-attention"


def test_of_several_devices_the_full_one_is_named() -> None:
    (draft,) = drafts("MEM010", {**given(device=7), peak_makeup.several: True})
    assert "7" in figures(draft.summary)
    assert "7" not in figures(drafts("MEM010", {**given(device=7), peak_makeup.several: False})[0].summary)


def test_what_was_free_is_not_told_where_it_is_not_known() -> None:
    (draft,) = drafts("MEM010", {**given(device=7, device_free_bytes=None), peak_makeup.several: True})
    assert not {"0 B", "0 bytes", "252 MiB"} & set(figures(draft.summary))


def test_several_failures_are_one_finding_and_none_is_none() -> None:
    (draft,) = drafts("MEM010", {**given(), memory.failures: (FAILED, {**FAILED, "ts": 9})})
    assert {"2"} <= set(figures(draft.summary))
    assert drafts("MEM010", {memory.failures: ()}) == []


def test_without_a_recording_of_the_allocator_it_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM010", {})
