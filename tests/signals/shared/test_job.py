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
