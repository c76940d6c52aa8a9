from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import optimizer
from stepscope.signals.shared import job


def given(calls: float, kinds: int = 9, platform: str = "cuda") -> dict[object, object]:
    found = optimizer.Updates(
        np.array([4]), np.array([8]), np.array([5, 6, 7]), np.array([2_000, 40_000, 60_000]), 900, 0, kinds, False
    )
    return {
        optimizer.tensor_updates: calls,
        optimizer.updates: found,
        job.recorded_steps: 1,
        job.platform: platform,
    }


def test_a_loop_over_tensors_is_found() -> None:
    (draft,) = drafts("HST008", given(900))
    assert figures(draft.summary) == ["102 µs", "900"]
    assert "fused=True" in draft.actions[0].after


def test_the_host_s_time_is_told_too_since_it_is_saved() -> None:
    signals = given(900)
    signals[optimizer.updates] = replace(signals[optimizer.updates], host_ns=20_000_000)  # type: ignore[type-var]
    (draft,) = drafts("HST008", signals)
    assert {"102 µs", "20.0 ms"} <= set(figures(draft.summary))
    assert draft.most_ns == 20_102_000


def test_a_fused_one_moves_each_tensor_once() -> None:
    (draft,) = drafts("HST008", given(900))
    assert draft.change is not None
    tiny, long = draft.change.device
    assert (tiny.events.tolist(), tiny.factor) == ([5], 0.1)
    assert (long.events.tolist(), long.factor) == ([6, 7], pytest.approx(7 / 27))
    assert draft.change.host[0].events.tolist() == [4, 8]
    assert draft.change.host[0].factor == 0.1


def test_a_fused_step_takes_no_longer_for_a_long_loop() -> None:
    signals = given(900)
    signals[optimizer.updates] = replace(signals[optimizer.updates], host_ns=20_000_000)  # type: ignore[type-var]
    (draft,) = drafts("HST008", signals)
    assert draft.change is not None
    assert draft.change.host[0].factor == 0.005


def test_an_optimizer_of_one_pass_moves_no_less_when_fused() -> None:
    (draft,) = drafts("HST008", given(900, kinds=1))
    assert draft.change is not None
    assert draft.change.device[1].factor == 1.0


def test_on_ascend_it_has_another_name() -> None:
    assert "NpuFusedAdamW" in drafts("HST008", given(900, platform="npu"))[0].actions[0].after


def test_a_few_calls_just_miss() -> None:
    assert drafts("HST008", given(49)) == []
    assert len(drafts("HST008", given(50))) == 1


def test_without_a_marked_step_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST008", {})


@pytest.mark.parametrize(
    ("name", "platform", "code"),
    [
        ("SGD", "cuda", "torch.optim.SGD(model.parameters(), lr=lr, fused=True)"),
        ("", "cuda", "torch.optim.AdamW(model.parameters(), lr=lr, fused=True)"),
        ("Rprop", "cuda", "torch.optim.Rprop(model.parameters(), lr=lr, foreach=True)"),
        ("Adam", "npu", "import torch_npu\ntorch_npu.optim.NpuFusedAdam(model.parameters(), lr=lr)"),
        ("Adagrad", "cuda", "torch.optim.Adagrad(model.parameters(), lr=lr, foreach=True)"),
        ("Adagrad", "npu", "torch.optim.Adagrad(model.parameters(), lr=lr, foreach=True)"),
    ],
)
def test_the_remedy_names_the_optimizer_at_hand(name: str, platform: str, code: str) -> None:
    signals = given(900, platform=platform)
    signals[optimizer.updates] = replace(signals[optimizer.updates], name=name)  # type: ignore[type-var]
    (draft,) = drafts("HST008", signals)
    assert draft.actions[0].after == code


def test_an_optimizer_that_has_no_other_version_has_no_remedy() -> None:
    signals = given(900)
    signals[optimizer.updates] = replace(signals[optimizer.updates], name="LBFGS")  # type: ignore[type-var]
    assert drafts("HST008", signals) == []


def test_a_host_that_does_the_arithmetic_itself_saves_passes_alone() -> None:
    signals = given(900)
    found = replace(signals[optimizer.updates], host_ns=20_000_000, name="Adagrad", on_device=False)  # type: ignore[type-var]
    (draft,) = drafts("HST008", {**signals, optimizer.updates: found})
    assert draft.change is not None
    assert draft.change.host[0].factor == pytest.approx(7 / 27)
    assert [(action.before, action.after) for action in draft.actions] == [
        ("torch.optim.Adagrad(model.parameters(), lr=lr)", "torch.optim.Adagrad(model.parameters(), lr=lr, fused=True)")
    ]
