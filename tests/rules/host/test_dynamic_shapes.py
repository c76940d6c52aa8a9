from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.rules.registry import all_rules
from stepscope.signals.host import compiling

FOUND = compiling.Compilations(np.array([3]), np.array([0]), np.array([300]), 3, ("compile_inner (dynamo_timed)",))


def given(variety: float, share: float = 0.3) -> dict[object, object]:
    return {
        compiling.compilations: FOUND,
        compiling.compiling_share: share,
        compiling.shape_variety: variety,
    }


def test_shapes_that_change_and_compilation_are_found_together() -> None:
    (draft,) = drafts("HST011", given(2.5))
    assert figures(draft.summary) == ["2.5", "30.0 %"]


def test_the_same_shapes_or_no_compilation_just_miss() -> None:
    assert drafts("HST011", given(1.19)) == []
    assert drafts("HST011", given(2.5, 0.0099)) == []
    assert len(drafts("HST011", given(1.2, 0.01))) == 1


def test_that_code_is_compiled_again_is_its_symptom() -> None:
    assert "HST011" in all_rules()["HST010"].rule.symptom_of


def test_without_shapes_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST011", {compiling.compilations: FOUND, compiling.compiling_share: 0.3})
