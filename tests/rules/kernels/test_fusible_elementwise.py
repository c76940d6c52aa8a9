from __future__ import annotations

import pytest

from fusion_support import CHANGE, sequences
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.fitting import fitting
from stepscope.signals.kernels.fusions import runs


def test_it_says_how_often_as_what_and_what_would_remain() -> None:
    (draft,) = drafts("KRN013", sequences(runs, 0.2))
    assert figures(draft.summary) == ["1.00 µs", "2", "2.00 µs", "4"]
    assert draft.change is CHANGE
    assert draft.events.tolist() == [4, 5, 6]


def test_the_remedy_is_that_of_the_platform() -> None:
    for platform, code in (
        ("cuda", "torch.compile"),
        ("rocm", "torch.compile"),
        ("npu", "torchair"),
        ("cpu", "torch.compile"),
    ):
        (draft,) = drafts("KRN013", sequences(runs, 0.2, platform))
        assert code in draft.actions[0].after


def test_less_than_a_hundredth_of_the_step_just_misses() -> None:
    assert drafts("KRN013", sequences(runs, 0.0099)) == []
    assert len(drafts("KRN013", sequences(runs, 0.01))) == 1
    assert drafts("KRN013", sequences(runs, 0.2, count=0)) == []


def test_without_operations_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN013", {})


def test_compiled_programs_are_told_of_inductor_and_no_others() -> None:
    (draft,) = drafts("KRN013", sequences(runs, 0.2))
    for compiled, text in ((True, "Let Inductor"), (False, "Compile the model"), (None, "Compile the model")):
        told = fitting(draft.actions, Program("training", "pytorch", "cuda", "python", compiled=compiled))
        assert [action.text.startswith(text) for action in told] == [True]
