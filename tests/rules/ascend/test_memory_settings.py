from __future__ import annotations

import pytest

from memory_support import driver_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend
from stepscope.signals.memory import driver_memory, memory
from stepscope.signals.memory.memory import Peak


def given(calls: int = 0, reserved: int = 100, conf: str = "") -> dict[object, object]:
    return {
        ascend.environment: {"PYTORCH_NPU_ALLOC_CONF": conf},
        driver_memory.driver_calls: driver_calls(calls, "t", in_operator=(True,)),
        memory.peaks: (Peak(0, 100 << 20, False, reserved << 20, None, None),),
    }


def test_calls_for_memory_are_a_symptom() -> None:
    (draft,) = drafts("ASC009", given(calls=100))
    assert {"10.0 ms"} <= set(figures(draft.summary))
    assert drafts("ASC009", given(calls=99)) == []


def test_memory_held_beyond_what_is_used_is_one_too() -> None:
    (draft,) = drafts("ASC009", given(reserved=130))
    assert {"130 MiB", "30.0 %"} <= set(figures(draft.summary))
    assert drafts("ASC009", given(reserved=129)) == []


def test_expandable_segments_are_what_is_advised() -> None:
    assert drafts("ASC009", given(calls=100, conf="expandable_segments:True")) == []


def test_without_symptoms_the_default_is_fine() -> None:
    assert drafts("ASC009", given()) == []


def test_without_an_environment_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC009", {})
