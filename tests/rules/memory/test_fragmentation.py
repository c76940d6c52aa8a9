from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.analyses.snapshots.memory_snapshot_layout import FreeLayout
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import memory
from stepscope.signals.snapshots import allocator, layout_at, peak_makeup, split_size

GIB = 1 << 30


def given(stranded: int, reserved: int = 32 * GIB, trains: bool | None = True) -> dict[object, object]:
    held = FreeLayout(reserved, stranded + GIB, GIB, GIB // 4)
    known = {} if trains is None else {peak_makeup.trains: trains}
    return {memory.snapshot: {"device": 0}, memory.failures: (), layout_at.fullest_layout: held, **known}


def test_memory_stranded_when_most_was_held_is_found() -> None:
    (draft,) = drafts("MEM003", given(8 * GIB))
    assert {"25.0 %", "8.00 GiB"} <= set(figures(draft.summary))
    assert "expandable_segments:True" in draft.actions[0].after
    assert draft.confidence == 0.8


def test_without_a_history_the_snapshot_has_one_moment_only() -> None:
    (draft,) = drafts("MEM003", given(8 * GIB, trains=None))
    assert draft.confidence == 0.5


def test_wording_without_a_history() -> None:
    (draft,) = drafts("MEM003", given(8 * GIB, trains=None))
    assert "at the moment of the snapshot" in draft.summary


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM003", given(8 * GIB - 1)) == []
    assert drafts("MEM003", given(GIB - 1, 2 * GIB)) == []
    assert len(drafts("MEM003", given(GIB, 2 * GIB))) == 1


@pytest.mark.parametrize(
    ("state", "settings"),
    [("off", ["expandable_segments:True", "max_split_size_mb:64", ""]), ("unsupported", ["max_split_size_mb:64", ""]),
     ("on", [""])],
)  # fmt: skip
def test_what_is_advised_is_what_the_platform_can_do(state: str, settings: list[str]) -> None:
    (draft,) = drafts("MEM003", {**given(8 * GIB), allocator.expandable: state, split_size.split_size_mb: 64})
    assert [action.after.partition("=")[2] for action in draft.actions] == settings


def test_an_allocation_that_failed_with_enough_free_is_found() -> None:
    failed = {"ts": 1, "verdict": "fragmentation", "requested_bytes": GIB, "free_bytes": 5 * GIB,
              "largest_free_bytes": GIB // 2}  # fmt: skip
    (draft,) = drafts("MEM003", {memory.failures: (failed,), allocator.variable: "PYTORCH_NPU_ALLOC_CONF"})
    assert {"1.00 GiB", "5.00 GiB"} <= set(figures(draft.summary))
    assert "PYTORCH_NPU_ALLOC_CONF" in draft.actions[0].after


def test_without_a_snapshot_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM003", {memory.failures: ()})
