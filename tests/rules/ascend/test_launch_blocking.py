from __future__ import annotations

import pytest

from npu_support import host_calls
from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend, npu_dispatch


def test_the_variable_for_debugging_is_found() -> None:
    given = {ascend.environment: {"ASCEND_LAUNCH_BLOCKING": "1"}, npu_dispatch.waits: host_calls(3, 10)}
    (draft,) = drafts("ASC008", given)
    assert draft.change is not None
    assert draft.change.unblocked.tolist() == [0, 1, 2]
    assert draft.confidence == 1.0


def test_it_is_found_without_calls_too_but_not_priced() -> None:
    (draft,) = drafts("ASC008", {ascend.environment: {"ASCEND_LAUNCH_BLOCKING": "1"}})
    assert draft.change is None


@pytest.mark.parametrize("value", ["", "0"])
def test_unset_it_does_no_harm(value: str) -> None:
    assert drafts("ASC008", {ascend.environment: {"ASCEND_LAUNCH_BLOCKING": value}}) == []


def test_without_an_environment_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC008", {})
