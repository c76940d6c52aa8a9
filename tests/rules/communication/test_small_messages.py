from __future__ import annotations

import numpy as np
import pytest

from comm_support import some_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import communication, messages
from stepscope.signals.communication.messages import Messages
from stepscope.signals.shared import job


def given(small: int, all_calls: int, transfer: int = 30_000) -> dict[object, object]:
    calls = some_calls(small, bytes=4, transfer=transfer, dur=transfer)
    return {
        messages.others: Messages(calls, np.array([7]), 0.05, 0.02),
        communication.calls: some_calls(all_calls),
        job.step_ns: 10_000_000,
    }


def test_metrics_reduced_one_by_one_are_found() -> None:
    (draft,) = drafts("COM003", given(20, 30))
    assert {"20", "4 B"} <= set(figures(draft.summary))
    assert "torch.stack" in draft.actions[0].after
    assert draft.change is not None
    assert draft.change.device[0].factor == 0.05


def test_few_or_cheap_ones_are_not_reported() -> None:
    assert drafts("COM003", given(7, 10)) == []
    assert drafts("COM003", given(10, 20, transfer=9_999)) == []
    assert len(drafts("COM003", given(10, 20, transfer=10_000))) == 1


def test_they_must_be_a_fifth_of_all_collectives() -> None:
    assert drafts("COM003", given(10, 51)) == []
    assert len(drafts("COM003", given(10, 50))) == 1


def test_without_collectives_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM003", {})
