from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_dispatch
from stepscope.signals.ascend.npu_dispatch import Optimizer
from stepscope.signals.shared import job
from support import Facts


def given(name: str, host_ns: int) -> dict[object, object]:
    found = Optimizer(name, f"Optimizer.step#{name}.step", np.array([7]), host_ns, 2_000_000)
    return {npu_dispatch.optimizer: found, job.step_ns: 100_000_000}


def test_an_optimizer_with_a_fused_version_is_found() -> None:
    (draft,) = drafts("ASC005", given("SGD", 10_000_000))
    assert {"10.0 %", "10.0 ms", "2.00 ms", "SGD.step"} <= set(figures(draft.summary))
    assert "torch_npu.optim.NpuFusedSGD" in draft.actions[0].after


def test_fused_ones_and_strangers_are_left_alone() -> None:
    assert drafts("ASC005", given("NpuFusedSGD", 10_000_000)) == []
    assert drafts("ASC005", given("Muon", 10_000_000)) == []
    assert drafts("ASC005", {npu_dispatch.optimizer: None}) == []


@pytest.mark.parametrize("name", ["AdamW", "NpuFusedAdamW"])
def test_gradients_that_are_clipped_one_by_one_are_found_whichever_optimizer_runs(name: str) -> None:
    def norms(number: int, ns: int) -> dict[object, object]:
        calls = npu_dispatch.HostCalls(np.arange(number * 2), np.full(number * 2, ns), 2)
        return given(name, 0) | {npu_dispatch.clipped_norms: calls}

    (draft,) = drafts("ASC005", norms(100, 20_000))
    assert {"100", "2.00 ms", "2.0 %"} <= set(figures(draft.summary))
    assert "clip_grad_norm_fused_" in draft.actions[0].after
    assert "NpuFusedAdamW" in draft.actions[0].text
    assert drafts("ASC005", norms(19, 200_000)) == []
    assert drafts("ASC005", norms(20, 49_000)) == []


def test_little_time_is_not_worth_it() -> None:
    assert drafts("ASC005", given("AdamW", 999_999)) == []
    assert len(drafts("ASC005", given("AdamW", 1_000_000))) == 1


def test_without_the_runtimes_calls_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC005", {})


def test_its_price_is_that_of_the_time_on_the_host() -> None:
    (draft,) = drafts("ASC005", given("SGD", 10_000_000))
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.host] == [([7], 0.1)]
    assert (draft.change.device, draft.most_ns) == ((), 10_000_000)


@pytest.mark.parametrize(("waits", "saved"), [(False, True), (True, False)])
def test_an_optimizer_beside_a_waiting_device_saves_nothing(waits: bool, saved: bool) -> None:
    """Its kernels are launched as soon as they can run, or while a collective still runs before them."""
    facts = Facts()
    for number in range(3):
        at = 100_000 * number
        facts.step(number, at, 100_000)
        facts.host("runtime", "aclnnMul", at + 100, 400)
        facts.kernel("MatMul", at + 1_000, 2_000, launch=(at + 100, 400))
        facts.host("annotation", "Optimizer.step#SGD.step", at + 5_000, 40_000)
        facts.host("op", "aten::_foreach_mul_", at + 6_000, 38_000)
        if waits:
            facts.kernel("hcom_allReduce_", at + 3_500, 90_000, launch=(at + 1_000, 100), kind="comm")
        facts.kernel("ForeachMulScalar", at + (94_000 if waits else 44_500), 1_000, launch=(at + 44_000, 100))
        end = at + (95_500 if waits else 46_000)
        facts.host("sync", "aclrtSynchronizeStream", at + 45_500, end - at - 45_500)
    (found,) = findings("ASC005", facts.trace(reader="ascend"))
    assert (found.share is not None and found.share > 0.1) is saved
    assert found.shown is saved
