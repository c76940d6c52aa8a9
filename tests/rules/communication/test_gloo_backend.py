from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import process_groups
from stepscope.signals.communication.process_groups import ProcessGroup
from stepscope.signals.shared import host_collectives, job
from stepscope.signals.shared.host_collectives import OnHost

HOST = OnHost(np.array([3, 4]), np.array([10_000, 210_000]), np.array([40_000, 60_000]), np.array([0, 1]))


def given(backend: str, platform: str = "cuda", step: int = 1_000_000) -> dict[object, object]:
    return {
        process_groups.groups: (ProcessGroup("0", backend, (0, 1), 2),),
        host_collectives.on_host: HOST,
        job.platform: platform,
        job.step_ns: step,
    }


@pytest.mark.parametrize("backend", ["gloo", "cpu:gloo,cuda:gloo"])
def test_gloo_for_tensors_of_devices_is_found(backend: str) -> None:
    (draft,) = drafts("COM009", given(backend))
    assert {"5.0 %", "50.0 µs"} <= set(figures(draft.summary))
    assert 'init_process_group("nccl")' in draft.actions[0].after
    assert draft.change is not None
    assert draft.change.host[0].events.tolist() == [3, 4]
    assert draft.confidence == 0.9


def test_unknown_backends_lower_the_confidence_and_npus_have_their_own() -> None:
    (draft,) = drafts("COM009", given("", "npu"))
    assert draft.confidence == 0.5
    assert "hccl" in draft.actions[0].after


def test_gloo_for_host_tensors_is_none() -> None:
    assert drafts("COM009", given("cpu:gloo,cuda:nccl")) == []


def test_on_the_cpu_gloo_is_right() -> None:
    assert drafts("COM009", given("gloo", "cpu")) == []


def test_just_below_the_threshold_nothing_is_found() -> None:
    assert drafts("COM009", given("gloo", step=5_000_001)) == []
    assert len(drafts("COM009", given("gloo", step=5_000_000))) == 1


def test_without_collectives_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM009", {})
