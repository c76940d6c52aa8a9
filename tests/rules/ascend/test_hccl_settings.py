from __future__ import annotations

import numpy as np
import pytest

from comm_support import MIB, some_calls
from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend
from stepscope.signals.communication import comm_tasks, communication
from stepscope.signals.communication.comm_tasks import Parts


def given(share: float = 0.1, size: int = 25, remote: bool = False, **environment: str) -> dict[object, object]:
    transport = np.array(["RDMA" if remote else "SDMA"])
    one = np.ones(1, np.int64)
    return {
        ascend.environment: environment,
        communication.transfer_share: share,
        communication.calls: some_calls(2, bytes=size * MIB),
        comm_tasks.parts: Parts(one, one, one, one, one, transport),
    }


def settings(values: dict[object, object]) -> list[str]:
    return [action.after for draft in drafts("ASC010", values) for action in draft.actions]


def test_a_chosen_algorithm_is_to_be_unset() -> None:
    assert settings(given(HCCL_ALGO="level0:NA;level1:ring")) == ["unset HCCL_ALGO"]


def test_service_classes_matter_only_with_rdma() -> None:
    assert settings(given(HCCL_RDMA_TC="160")) == []
    assert settings(given(remote=True, HCCL_RDMA_TC="160", HCCL_RDMA_SL="4")) == ["export HCCL_RDMA_TC=132"]


def test_buffers_are_to_hold_the_largest_message() -> None:
    assert settings(given(size=100, HCCL_BUFFSIZE="100")) == []
    assert settings(given(size=101, HCCL_BUFFSIZE="100")) == ["export HCCL_BUFFSIZE=101"]
    assert settings(given(size=201, HCCL_BUFFSIZE="256")) == []


@pytest.mark.parametrize("told", [{}, {"HCCL_BUFFSIZE": ""}])
def test_a_buffer_that_is_not_recorded_is_not_called_too_small(told: dict[str, str]) -> None:
    assert settings(given(size=840, **told)) == []


def test_deterministic_reductions_are_slow() -> None:
    assert settings(given(HCCL_DETERMINISTIC="true")) == ["export HCCL_DETERMINISTIC=false"]


def test_hidden_communication_is_left_alone() -> None:
    assert settings(given(share=0.0299, HCCL_ALGO="x")) == []
    assert settings(given(share=0.03, HCCL_ALGO="x")) != []


def test_without_an_environment_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC010", {})
