from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.devices import match
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Kind, Program
from stepscope.signals.kernels.precision import Narrower, in_sixteen_bits
from stepscope.signals.shared import job
from stepscope.signals.shared.program import program


def given(of_eligible: float, of_step: float, device: str = "A100-SXM4-80GB") -> dict[object, object]:
    found = Narrower(
        "bf16" if "A100" in device else "fp16",
        np.array([3, 4]),
        np.array([8_000, 2_000]),
        np.array([0.25, 1.0]),
        False,
        np.array([9]),
        of_eligible,
        of_step,
        6_000,
    )
    platform = "npu" if "910" in device else "cuda"
    return {in_sixteen_bits: found, job.device: match(device), job.platform: platform, job.recorded_steps: 2}


def test_gemms_in_fp32_are_told_of_mixed_precision_and_tf32() -> None:
    (draft,) = drafts("KRN001", given(0.9, 0.5))
    assert figures(draft.summary) == ["2.00 µs", "3.00 µs", "5.00 µs", "90.0 %"]
    assert draft.summary.endswith(
        "The 3.00 µs of pointwise operations and normalisation in fp32 follow in type, and take half."
    )
    assert [draft.numbers[f"{in_sixteen_bits.name}.{name}"] for name in ("of_eligible", "of_step")] == [0.9, 0.5]
    assert "bfloat16" in draft.actions[0].after
    assert "GradScaler" not in draft.actions[0].after
    assert "set_float32_matmul_precision" in draft.actions[1].after


@pytest.mark.parametrize(
    ("classes", "first"),
    [(("gemm", "convolution"), "Matrix"), (("convolution", "gemm"), "Convolutions"), (("attention",), "Attention")],
)
def test_the_title_names_what_takes_most_of_the_time(classes: tuple[str, ...], first: str) -> None:
    values = given(0.9, 0.5)
    values[in_sixteen_bits] = replace(values[in_sixteen_bits], classes=classes)  # type: ignore[type-var]
    (draft,) = drafts("KRN001", values)
    assert draft.title.split()[0] == first


def test_the_change_scales_each_kernel_and_halves_what_follows() -> None:
    (draft,) = drafts("KRN001", given(0.9, 0.5))
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([3], 0.25), ([9], 0.5)]


def test_devices_without_bf16_get_loss_scaling_and_no_tf32() -> None:
    (draft,) = drafts("KRN001", given(0.9, 0.5, "Tesla V100-SXM2-32GB"))
    assert "GradScaler" in draft.actions[0].after
    assert len(draft.actions) == 1


def test_the_code_is_that_of_the_platform() -> None:
    (draft,) = drafts("KRN001", given(0.9, 0.5, "Ascend910B2"))
    assert 'torch.autocast("npu"' in draft.actions[0].after


@pytest.mark.parametrize(("platform", "named"), [("cuda", True), ("other", True), ("npu", False), ("rocm", False)])
def test_wording_is_of_tensor_cores_where_they_are_called_so(platform: str, named: bool) -> None:
    (draft,) = drafts("KRN001", {**given(0.9, 0.5), job.platform: platform})
    assert ("tensor cores" in draft.title, "tensor cores" in draft.summary) == (named, named)


def test_a_model_that_only_infers_is_loaded_in_sixteen_bits() -> None:
    (draft,) = drafts("KRN001", {**given(0.9, 0.5), job.infers: True})
    assert draft.actions[0].after.endswith(".to(torch.bfloat16)")
    assert not any("backward" in action.after for action in draft.actions)


@pytest.mark.parametrize(("kind", "backward"), [("training", True), ("unknown", False)])
def test_only_a_program_that_trains_is_shown_a_backward_pass(kind: Kind, backward: bool) -> None:
    (draft,) = drafts("KRN001", {**given(0.9, 0.5), program: Program(kind, "pytorch", "cuda")})
    assert "torch.autocast" in draft.actions[0].after
    assert any("backward" in action.after for action in draft.actions) == backward


@pytest.mark.parametrize(("of_eligible", "of_step"), [(0.49, 0.9), (0.9, 0.049)])
def test_less_than_half_of_the_gemms_or_little_of_the_step_just_misses(of_eligible: float, of_step: float) -> None:
    assert drafts("KRN001", given(of_eligible, of_step)) == []
    assert len(drafts("KRN001", given(0.5, 0.05))) == 1


def test_without_a_known_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN001", {job.device: None})
