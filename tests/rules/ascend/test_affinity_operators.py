from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_dispatch
from stepscope.signals.ascend.npu_dispatch import Optimizer
from stepscope.signals.shared import job


def given(name: str, host_ns: int, gain: float = 0.1) -> dict[object, object]:
    found = Optimizer(name, f"Optimizer.step#{name}.step", np.array([7]), host_ns, 2_000_000)
    return {npu_dispatch.optimizer: found, npu_dispatch.optimizer_gain: gain, job.step_ns: 100_000_000}


def test_an_optimizer_with_a_fused_version_is_found() -> None:
    (draft,) = drafts("ASC005", given("SGD", 10_000_000))
    assert {"10.0 %", "10.0 ms", "2.00 ms", "SGD.step"} <= set(figures(draft.summary))
    assert "torch_npu.optim.NpuFusedSGD" in draft.actions[0].after


def test_fused_ones_and_strangers_are_left_alone() -> None:
    assert drafts("ASC005", given("NpuFusedSGD", 10_000_000)) == []
    assert drafts("ASC005", given("Muon", 10_000_000)) == []
    assert drafts("ASC005", {npu_dispatch.optimizer: None}) == []


def test_little_time_is_not_worth_it() -> None:
    assert drafts("ASC005", given("AdamW", 999_999)) == []
    assert len(drafts("ASC005", given("AdamW", 1_000_000))) == 1


def test_without_the_runtimes_calls_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC005", {})


@pytest.mark.parametrize(("gain", "number"), [(0.01, 1), (0.0099, 0)])
def test_an_optimizer_beside_a_waiting_device_saves_nothing(gain: float, number: int) -> None:
    assert len(drafts("ASC005", given("SGD", 10_000_000, gain))) == number
