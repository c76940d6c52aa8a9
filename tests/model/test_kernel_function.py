from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.kernel_names.function import changes_layout, function

_POINT = "void at::native::vectorized_elementwise_kernel<4, at::native::{}, std::array<char*, 2ul> >(int, T2, T3)"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (_POINT.format("(anonymous namespace)::pow_tensor_scalar_kernel_impl<float>(at::TensorIteratorBase&)"), "pow"),
        (_POINT.format("BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >"), "mul"),
        (_POINT.format("CUDAFunctor_add<float>"), "add"),
        (_POINT.format("GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}"), "gelu"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >()", "mean"),
        ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)", "softmax"),
        ("void at::softmax_warp_forward<float, float, float, 9, true, false>(float*)", "logsoftmax"),
        ("void <unnamed>::softmax_warp_backward<float, float, float, (int)7, (bool)1>(T2 *)", "logsoftmaxbackward"),
        ("void at::native::cunn_SoftMaxForward<4, float, LogSoftMaxForwardEpilogue>(float*)", "logsoftmax"),
        ("triton_poi_fused_add_mul_0", "tritonpoifusedaddmul0"),
        ("aclnnMul_MulAiCore_Mul", "mul"),
        ("Cast128", "cast"),
        ("aclnnAdds_AddAiCore_Add", "add"),
        ("SoftmaxV2", "softmax"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_function_that_a_kernel_computes(name: str, expected: str) -> None:
    assert function(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>(x)", True),
        ("batched_transpose_32x32_half", True),
        ("trans_TransData_12", True),
        ("aclnnMm_TransData_TransData", True),
        ("trans_TransData_16_MemSet", False),
        ("void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>(int)", False),
        ("Transpose12", False),
    ],
)
def test_kernels_that_only_change_a_layout(name: str, expected: bool) -> None:
    assert changes_layout(name) is expected


@given(st.text(max_size=60))
def test_no_name_is_too_odd(name: str) -> None:
    assert isinstance(function(name), str)
    assert changes_layout(name) in (True, False)
