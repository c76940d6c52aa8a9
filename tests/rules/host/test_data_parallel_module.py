from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication.replicas import Replicas, replicas, replicating_share
from stepscope.signals.shared import job


def given(devices: int, platform: str = "cuda") -> dict[object, object]:
    found = Replicas(devices, np.array([3]), np.array([500]), np.array([9]))
    return {replicas: found, replicating_share: 0.25, job.platform: platform}


def test_one_process_for_several_devices_is_found() -> None:
    (draft,) = drafts("HST009", given(4))
    assert figures(draft.summary) == ["25.0 %", "4"]
    assert draft.change is not None
    assert draft.change.device[0].events.tolist() == [9]


def test_the_backend_is_that_of_the_platform() -> None:
    assert '"hccl"' in drafts("HST009", given(4, "npu"))[0].actions[0].after


def test_one_device_or_no_replicas_just_miss() -> None:
    assert drafts("HST009", given(1)) == []
    assert drafts("HST009", {replicas: None}) == []
    assert len(drafts("HST009", given(2))) == 1


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST009", {})
