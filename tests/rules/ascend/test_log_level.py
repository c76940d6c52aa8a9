from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend
from stepscope.signals.shared import idleness


def given(level: str, idle: float = 0.2) -> dict[object, object]:
    return {ascend.environment: {"ASCEND_GLOBAL_LOG_LEVEL": level}, idleness.waiting_for_host_share: idle}


def test_logs_of_debugging_are_found() -> None:
    (draft,) = drafts("ASC011", given("1"))
    assert {"1"} <= set(figures(draft.summary))


@pytest.mark.parametrize("level", ["", "3", "4"])
def test_errors_only_is_fine(level: str) -> None:
    assert drafts("ASC011", given(level)) == []


def test_where_dispatch_is_fast_logging_does_no_harm() -> None:
    assert drafts("ASC011", given("0", 0.0499)) == []
    assert len(drafts("ASC011", given("0", 0.05))) == 1


def test_without_an_environment_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC011", {})
