from __future__ import annotations

import numpy as np
import pytest

from comm_support import some_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import messages
from stepscope.signals.communication.messages import Messages
from stepscope.signals.shared import job


def given(per_step: int, transfer: int = 30_000, name: str = "all_reduce") -> dict[object, object]:
    calls = some_calls(2 * per_step, steps=2, bytes=64 << 10, transfer=transfer, dur=transfer, name=name)
    return {messages.gradients: Messages(calls, np.array([7, 8]), 0.2, 0.1), job.step_ns: 10_000_000}


def test_many_small_reductions_are_found_and_priced_as_merged() -> None:
    (draft,) = drafts("COM008", given(40))
    assert {"40", "64.0 KiB"} <= set(figures(draft.summary))
    assert {"1.20 ms", "12.0 %"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.device[0].factor == 0.2
    assert (draft.change.host[0].events.tolist(), draft.change.host[0].factor) == ([7, 8], 0.1)
    assert "bucket_cap_mb" in draft.actions[0].after


def test_sharded_models_are_told_to_shard_larger_units() -> None:
    assert "fully_shard" in drafts("COM008", given(40, name="reduce_scatter"))[0].actions[0].after


def test_few_calls_are_not_reported() -> None:
    assert drafts("COM008", given(7)) == []
    assert len(drafts("COM008", given(8))) == 1


def test_little_time_is_not_reported() -> None:
    assert drafts("COM008", given(10, transfer=9_999)) == []
    assert len(drafts("COM008", given(10, transfer=10_000))) == 1


def test_without_collectives_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM008", {})
