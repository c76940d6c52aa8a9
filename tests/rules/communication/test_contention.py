from __future__ import annotations

import numpy as np
import pytest

from comm_support import some_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import comm_tasks, communication, contention
from stepscope.signals.communication.comm_tasks import Parts
from stepscope.signals.communication.contention import Crowded
from stepscope.signals.shared import job


def crowded(dur: int) -> Crowded:
    return Crowded(np.array([4, 5]), np.array([dur, dur]), np.array([1_000, 1_000]), np.array([1.0, 0.8]))


def parts(beside: int, free: int) -> Parts:
    dur = np.array([beside, beside, free, free])
    return Parts(np.arange(4), np.array([0, 0, 1, 1]), np.arange(4), dur, np.full(4, 18_000), np.full(4, "SDMA"))


def test_kernels_that_are_slower_beside_collectives_are_found() -> None:
    (draft,) = drafts("COM005", {contention.crowded: crowded(1_300), job.platform: "cuda"})
    assert {"30.0 %"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([4, 5], 0.77)]
    assert "NCCL_MAX_CTAS" in draft.actions[0].after


def test_a_little_slower_is_not_reported() -> None:
    assert drafts("COM005", {contention.crowded: crowded(1_199)}) == []
    assert len(drafts("COM005", {contention.crowded: crowded(1_201), job.platform: "cuda"})) == 1


def test_transfers_that_are_slower_beside_matrix_multiplications_are_found() -> None:
    given = {
        contention.crowded: crowded(1_000),
        comm_tasks.parts: parts(2_000, 1_000),
        comm_tasks.beside_matmul: np.array([True, True, False, False]),
        communication.calls: some_calls(2),
        job.platform: "npu",
    }
    (draft,) = drafts("COM005", given)
    assert {"18.0 GB/s", "9.00 GB/s"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([0], 0.5)]
    assert drafts("COM005", {**given, comm_tasks.parts: parts(1_250, 1_000)}) == []


def test_without_either_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM005", {})
