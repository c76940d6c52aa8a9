from __future__ import annotations

import pytest

from rule_support import drafts, figures
from rules.memory.makeups import MIB, part
from stepscope.model.errors import MissingInputError
from stepscope.signals.snapshots import peak_makeup, peak_parts
from stepscope.signals.snapshots.peak_parts import PeakPart


def given(found: PeakPart | None, trains: bool = False) -> dict[object, object]:
    return {peak_parts.weight_copies: found, peak_makeup.trains: trains}


def test_copies_in_inference_are_found() -> None:
    (draft,) = drafts("MEM015", given(part(230 * MIB, 745 * MIB, count=85)))
    assert {"230 MiB", "30.9 %", "745 MiB", "85"} <= set(figures(draft.summary))
    assert "bfloat16" in draft.actions[0].after


def test_training_needs_them() -> None:
    assert drafts("MEM015", given(part(230 * MIB, 745 * MIB, count=85), trains=True)) == []


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM015", given(part(100 * MIB, 1000 * MIB, count=7))) == []
    assert drafts("MEM015", given(part(99 * MIB, 1000 * MIB, count=8))) == []
    assert len(drafts("MEM015", given(part(100 * MIB, 1000 * MIB, count=8)))) == 1
    assert drafts("MEM015", given(None)) == []


def test_without_a_history_it_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM015", {})
