from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.data import data, loader_waits

WAITS = data.Waits(
    np.array([3, 9]), np.array([0, 1000]), np.array([500, 400]), ("enumerate(DataLoader)#_X.__next__",) * 2
)


def given(share: float, in_process: bool | None = True) -> dict[object, object]:
    return {data.wait_share: share, data.wait_ns: 500, data.regular: WAITS, data.in_process: in_process}


def test_a_wait_of_half_the_step_is_found_with_what_to_do() -> None:
    (draft,) = drafts("DAT001", given(0.5))
    assert figures(draft.summary) == ["50.0 %", "500 ns"]
    assert "num_workers" in draft.actions[0].after
    assert draft.events.tolist() == [3, 9]


def test_workers_that_do_not_keep_up_are_told_apart() -> None:
    (draft,) = drafts("DAT001", given(0.5, False))
    assert "workers don't keep up" in draft.summary


@pytest.mark.parametrize(("share", "receives"), [(0.499, False), (0.5, True)])
def test_batches_that_are_received_are_not_late(share: float, receives: bool) -> None:
    inside = loader_waits.Inside(np.array([4]), 400, ("torch/multiprocessing/reductions.py(9): rebuild_storage_fd",))
    (draft,) = drafts(
        "DAT001", {**given(0.5, False), loader_waits.receiving: inside, loader_waits.receiving_share: share}
    )
    assert ("rebuild_storage_fd" in draft.summary) is receives
    assert ("workers don't keep up" in draft.summary) is not receives
    assert ("pin_memory=True" in draft.actions[0].after) is receives


def test_just_below_the_threshold_nothing_is_found() -> None:
    assert drafts("DAT001", given(0.00999)) == []
    assert len(drafts("DAT001", given(0.0100))) == 1


def test_a_single_wait_tells_nothing_of_the_others() -> None:
    one = data.Waits(np.array([3]), np.array([0]), np.array([500]), ("enumerate(DataLoader)#_X.__next__",))
    assert drafts("DAT001", {**given(0.5), data.regular: one}) == []


def test_the_threshold_can_be_set() -> None:
    assert drafts("DAT001", given(0.2), {"min_share": 0.3}) == []


def test_without_a_loader_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT001", {})
