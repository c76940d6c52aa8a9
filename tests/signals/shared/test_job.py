from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.shared import job
from support import Facts


def infers(*kernels: str, operator: str | None = None) -> bool:
    """Of a recording with an operator, and with work between gemms, as networks have it."""
    facts = Facts()
    facts.host("op", "aten::relu", 2_000, 1_000)
    facts.kernel("void at::native::vectorized_elementwise_kernel<4, relu>", 900_000, 5_000)
    if operator:
        facts.host("op", operator, 0, 1_000)
    for at, name in enumerate(kernels):
        facts.kernel(name, 10_000 * at, 5_000)
    return Signals.of(facts.trace())(job.infers)


def test_gemms_and_nothing_of_training_are_inference() -> None:
    assert infers("ampere_sgemm_128x64_tn", operator="aten::mm")


def test_gemms_alone_are_a_benchmark_of_them() -> None:
    facts = Facts()
    facts.host("op", "aten::mm", 0, 1_000)
    facts.kernel("ampere_sgemm_128x64_tn", 10_000, 5_000)
    assert not Signals.of(facts.trace())(job.infers)


@pytest.mark.parametrize(
    "kernel",
    [
        "cudnn::cnn::wgrad_alg0_engine",
        "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
        "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<float, float>",
        "void cuComputeGradInput<float, float, float>",
        "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_64x128x64",
        "aclnnSoftmaxGradV2_SoftmaxGradV2",
        "void at::native::multi_tensor_apply_kernel",
    ],
)
def test_a_kernel_of_the_backward_pass_or_the_optimizer_is_training(kernel: str) -> None:
    assert not infers("ampere_sgemm_128x64_tn", kernel)


def test_an_operator_of_the_backward_pass_is_training() -> None:
    assert not infers("ampere_sgemm_128x64_tn", operator="autograd::engine::evaluate_function: MmBackward0")


def test_without_gemms_nothing_is_said() -> None:
    assert not infers("memset")
    assert not infers()


@pytest.mark.parametrize(("second", "spread", "taken"), [(900, 2.0, 900), (90, 1.1, 900), (0, 1.0, 900)])
def test_kernels_of_several_devices_take_no_more_of_a_step_than_those_of_one(
    second: int, spread: float, taken: int
) -> None:
    facts = Facts()
    for step in range(2):
        facts.step(step, 1_000 * step, 1_000)
        facts.kernel("ampere_sgemm_128x64_tn", 1_000 * step, 900, device=0, stream="7")
        if second:
            facts.kernel("ampere_sgemm_128x64_tn", 1_000 * step, second, device=1, stream="7")
    s = Signals.of(facts.trace())
    assert s(job.spread) == pytest.approx(spread)
    assert job.per_step(s, 2 * (900 + second)) == pytest.approx(taken, abs=1)
    assert job.step_share(s, 2 * (900 + second)) == pytest.approx(taken / 1_000)


def test_where_no_device_computes_times_are_those_of_one() -> None:
    facts = Facts()
    facts.step(0, 0, 1_000)
    facts.kernel("ncclDevKernel_AllReduce_Sum", 0, 900, kind="comm")
    s = Signals.of(facts.trace())
    assert (s(job.spread), job.per_step(s, 900)) == (1.0, 900)
