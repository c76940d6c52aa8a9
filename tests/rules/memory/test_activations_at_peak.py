from __future__ import annotations

import pytest

from rule_support import drafts, figures
from rules.memory.makeups import GIB, MIB, makeup
from stepscope.model.errors import MissingInputError
from stepscope.signals.snapshots import peak_makeup


def given(trains: bool = True, **purposes: int) -> dict[object, object]:
    return {peak_makeup.makeup: makeup(**purposes), peak_makeup.trains: trains}


def test_activations_of_training_are_found_with_the_makeup() -> None:
    (draft,) = drafts("MEM014", given(activations=16 * GIB, optimizer_state=4 * GIB))
    assert {"20.0 %", "20.0 GiB", "80.0 %"} <= set(figures(draft.summary))
    assert {"16.0 GiB", "80.0 %"} <= set(figures(draft.summary))
    assert "checkpoint" in draft.actions[0].after


def test_inference_and_what_lives_briefly_do_not_count() -> None:
    assert drafts("MEM014", given(trains=False, activations=16 * GIB)) == []
    assert drafts("MEM014", given(temporaries=16 * GIB)) == []


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM014", given(activations=GIB - 1, parameters=GIB)) == []
    assert len(drafts("MEM014", given(activations=GIB, parameters=GIB))) == 1
    assert drafts("MEM014", given(activations=1023 * MIB)) == []


def test_without_a_history_it_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM014", {})
