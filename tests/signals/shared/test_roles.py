from __future__ import annotations

import pytest

from stepscope.signals.shared import roles


def test_each_word_has_one_letter_and_each_letter_one_meaning() -> None:
    words = [word for _, _, listed in roles._WORDS for word in listed.split()]
    assert len(set(words)) == len(words)
    assert len(roles.ROLE_NAMES) == len(roles._WORDS)
    assert roles.OTHER not in roles.ROLE_NAMES
    assert set(roles.POINTWISE) <= set(roles.ROLE_NAMES)


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("aten::bmm", "P"),
        ("aten::_softmax", "S"),
        ("aten::_softmax_backward_data", "T"),
        ("aten::add_.Tensor", "a"),
        ("aten::tanh_backward", "B"),
        ("aten::mul_backward", "m"),
        ("aten::_foreach_add_", "o"),
        ("aten::select", roles.OTHER),
        ("aten::native_layer_norm", roles.OTHER),
        ("MulBackward0", roles.OTHER),
        ("npu::npu_fusion_attention", "F"),
        ("", roles.OTHER),
    ],
)
def test_operators(name: str, letter: str) -> None:
    assert roles.role_of_operator(name) == letter


@pytest.mark.parametrize(
    ("name", "op_class", "letter"),
    [
        ("anything", "gemm", "P"),
        ("anything", "attention", "F"),
        ("anything", "collective", roles.OTHER),
        ("Select12", "elementwise", "w"),
        ("aclnnMul_MulAiCore_Mul", "elementwise", "m"),
        ("TanhGrad", "elementwise", "B"),
        ("triton_poi_fused_add_mul_0", "elementwise", roles.OTHER),
    ],
)
def test_kernels(name: str, op_class: str, letter: str) -> None:
    assert roles.role_of_kernel(name, op_class) == letter
