from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_totals
from stepscope.signals.ascend.npu_totals import Total
from stepscope.signals.recording.accounting import Account, account


def given(waits: int, kind: str = "acl") -> dict[object, object]:
    return {
        npu_totals.calls: (
            Total("launch", "node", 200, 4_000_000, 50_000),
            Total("aclrtSynchronizeStreamWithTimeout", kind, waits, 9_000_000, 300_000),
            Total("aclnnAdd", "acl", 100, 1_000_000, 20_000),
        )
    }


def test_a_wait_for_every_other_launch() -> None:
    (draft,) = drafts("ASC014", given(100))
    assert figures(draft.summary) == ["100", "200", "300 µs", "9.00 ms"]


def test_fewer_waits_are_as_usual_and_inner_layers_are_not_counted() -> None:
    assert drafts("ASC014", given(99)) == []
    assert drafts("ASC014", given(200, kind="runtime")) == []


@pytest.mark.parametrize(("idle", "count"), [(0.1, 1), (0.099, 0)])
def test_waits_for_a_device_that_is_always_busy_cost_nothing(idle: float, count: int) -> None:
    busy = Account(idle, 0.0, 0.0, (), True)
    assert len(drafts("ASC014", {**given(100), account: busy})) == count


def test_without_totals_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC014", {})
