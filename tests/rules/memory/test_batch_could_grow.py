from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.fitting import fitting
from stepscope.signals.memory import memory
from stepscope.signals.memory.memory import Peak
from stepscope.signals.shared import idleness

GIB = 1 << 30


def given(used: float, idle: float, *, bound: bool = False) -> dict[object, object]:
    return {
        memory.used_share: used,
        memory.fullest: Peak(0, 8 * GIB, bound, 9 * GIB, 80 * GIB, None),
        idleness.waiting_for_host_share: idle,
    }


def test_room_and_idleness_together_are_found() -> None:
    (draft,) = drafts("MEM008", given(0.1, 0.5))
    assert {"10.0 %", "50.0 %", "8.00 GiB"} <= set(figures(draft.summary))
    assert draft.confidence == 0.5


def test_one_without_the_other_is_not() -> None:
    assert drafts("MEM008", given(0.4001, 0.5)) == []
    assert drafts("MEM008", given(0.4, 0.2999)) == []
    assert len(drafts("MEM008", given(0.4, 0.3))) == 1


def test_a_peak_that_is_only_a_bound_says_nothing() -> None:
    assert drafts("MEM008", given(0.1, 0.5, bound=True)) == []


def test_without_memory_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM008", {})


def test_what_to_do_is_another_thing_for_a_model_that_only_infers() -> None:
    (draft,) = drafts("MEM008", given(0.1, 0.5))
    for kind, text in (("training", "Raise the batch"), ("inference", "Answer several")):
        told = Program(kind, "pytorch", "cuda", "python", loader=kind == "training")  # type: ignore[arg-type]
        assert [action.text.startswith(text) for action in fitting(draft.actions, told)] == [True]
