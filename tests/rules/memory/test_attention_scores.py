from __future__ import annotations

import pytest

from rule_support import drafts, figures
from rules.memory.makeups import GIB, MIB, part
from stepscope.model.errors import MissingInputError
from stepscope.signals.snapshots import peak_makeup, peak_parts
from stepscope.signals.snapshots.peak_parts import PeakPart


def given(found: PeakPart | None, math: bool = False) -> dict[object, object]:
    return {peak_parts.scores: found, peak_parts.math_attention: math, peak_makeup.trains: True}


def test_score_matrices_are_found_with_their_lines_and_the_peak_without_them() -> None:
    (draft,) = drafts("MEM013", given(part(10 * GIB, 22 * GIB)))
    assert {"10.0 GiB", "22.0 GiB", "45.5 %"} <= set(figures(draft.summary))
    assert {"10.0 GiB", "12.0 GiB", "24", "427 MiB", "model.py:41"} <= set(figures(draft.summary))
    assert "scaled_dot_product_attention" in draft.actions[0].after


def test_where_it_is_used_already_its_inputs_are_to_change() -> None:
    (draft,) = drafts("MEM013", given(part(10 * GIB, 22 * GIB), math=True))
    assert "Half precision" in draft.actions[0].text


def test_wording_of_attention_that_ran_unfused() -> None:
    (draft,) = drafts("MEM013", given(part(10 * GIB, 22 * GIB), math=True))
    assert "ran as separate GEMMs and softmax" in draft.summary


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM013", given(part(GIB - 24, 10 * GIB))) == []
    assert len(drafts("MEM013", given(part(GIB, 10 * GIB)))) == 1
    assert drafts("MEM013", given(part(255 * MIB, 500 * MIB))) == []
    assert drafts("MEM013", given(None)) == []


def test_without_a_history_it_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM013", {})
