from __future__ import annotations

import numpy as np
import pytest

from operator_support import GEMM, Program
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.kernels.precision import in_sixteen_bits, in_tf32
from stepscope.signals.kernels.shapes import rows, unaligned
from stepscope.signals.shared.dimensions import Dimensions, dimensions
from stepscope.signals.shared.gemms import gemms
from support import Facts

SGEMM = "ampere_sgemm_128x64_tn"
TF32 = "cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4"
A100 = "NVIDIA A100-SXM4-80GB"


def on(program: Program, device: str = A100) -> Signals:
    program.facts.row("devices", device=0, name=device, used=True, sms=108)
    return Signals.of(program.facts.trace())


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ("[[64,32],[32,16]]", Dimensions(1, 64, 16, 32)),
        ("[[16],[64,32],[32,16],[],[]]", Dimensions(1, 64, 16, 32)),
        ("[[8,64,32],[8,32,16]]", Dimensions(8, 64, 16, 32)),
        ("[[4,64,32],[16,32],[16]]", Dimensions(1, 256, 16, 32)),
        ("[[4,2,64,32],[4,2,32,16]]", Dimensions(8, 64, 16, 32)),
        ("[[64,32],[31,16]]", None),
        ("[[64]]", None),
        ("", None),
    ],
)
def test_dimensions_of_gemms(shapes: str, expected: Dimensions | None) -> None:
    assert dimensions(shapes) == expected


def test_gemms_have_the_type_of_their_kernel_else_of_their_operands() -> None:
    program = Program()
    program.call("aten::mm", (64, 32), (32, 16), kernel=GEMM)
    program.call("aten::mm", (64, 32), (32, 16), kernel="nothing_gemm_here", dtype="float")
    program.call("aten::cudnn_convolution", (8, 8), kernel="volta_scudnn_128x64_relu_interior_nn_v1", dtype="c10::Half")
    program.call("aten::mul", (64, 32))
    found = on(program)(gemms)
    assert [found.types[code] for code in found.dtype.tolist()] == ["bf16", "fp32", "fp16"]
    assert found.type_of(np.array([0, 6, 5, 99])) == ["bf16", "fp16", "", ""]
    assert found.is_class("convolution").tolist() == [False, False, True]
    assert found.flops.tolist()[:2] == [2 * 64 * 32 * 16] * 2


def test_without_gemms_it_abstains() -> None:
    program = Program()
    program.call("aten::mul", (64, 32))
    with pytest.raises(MissingInputError, match="matrix multiplication"):
        on(program)(gemms)


def test_fp32_is_measured_against_the_narrower_type_s_peak() -> None:
    program = Program()
    size = (4096, 4096)
    program.call("aten::mm", size, size, kernel=SGEMM, dtype="float", dur=10_000_000)
    program.call("aten::mm", size, size, kernel=GEMM, dur=600_000)
    s = on(program)
    found = s(in_sixteen_bits)
    assert found.dtype == "bf16"
    assert found.dur.tolist() == [10_000_000]
    assert found.factor.tolist() == pytest.approx([19.5 / 312])
    assert found.of_eligible == pytest.approx(10_000 / 10_600)
    assert s(in_tf32).factor.tolist() == pytest.approx([19.5 / 156])


def test_gemms_bound_by_memory_only_halve() -> None:
    program = Program()
    program.call("aten::mm", (65536, 4), (4, 65536), kernel=SGEMM, dtype="float", dur=20_000_000)
    assert on(program)(in_sixteen_bits).factor.tolist() == pytest.approx([0.5])


def test_no_gemm_comes_closer_to_its_least_time_than_good_ones_do() -> None:
    program = Program()
    program.call("aten::mm", (4096, 4096), (4096, 4096), kernel=SGEMM, dtype="float", dur=1_000_000)
    least = 2 * 4096**3 / 312e12
    assert on(program)(in_sixteen_bits).factor.tolist() == pytest.approx([least / 0.8 / 1e-3])


def test_gemms_of_unknown_size_become_a_third() -> None:
    facts = Facts()
    facts.kernel(SGEMM, 0, 100, launch=(0, 5))
    facts.row("devices", device=0, name=A100, used=True)
    found = Signals.of(facts.trace())(in_sixteen_bits)
    assert found.factor.tolist() == pytest.approx([1 / 3])


def test_tf32_is_no_fp32_and_convolutions_are_left_where_one_uses_it() -> None:
    program = Program()
    program.call("aten::mm", kernel=TF32)
    program.call("aten::cudnn_convolution", kernel="volta_scudnn_128x64_relu_interior_nn_v1", dtype="float")
    s = on(program)
    assert (s(in_sixteen_bits).event.size, s(in_tf32).event.size) == (1, 1)
    program = Program()
    program.call("aten::cudnn_convolution", kernel="volta_scudnn_128x64_relu_interior_nn_v1", dtype="float")
    program.call("aten::cudnn_convolution", kernel="sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc")
    s = on(program)
    assert s(in_tf32).event.size == 0
    found = s(in_sixteen_bits)
    assert found.rounded
    assert found.classes == ("convolution",)
    assert found.factor.tolist() == pytest.approx([1 / 3, 156 / 312])


def test_what_multiplies_matrices_in_fp32_does_so_in_16_bits_on_any_device() -> None:
    facts = Facts()
    for at, (name, dtype) in enumerate(
        (("aclnnMm_MatMulCommon_MatMulV2", "fp32"), ("Conv2D1", "tf32"), ("aclnnMm_MatMulCommon_MatMulV2", "fp16"))
    ):
        facts.kernel(name, 1_000 * at, 100, launch=(1_000 * at, 5), dtype=dtype)
    found = Signals.of(facts.trace())(in_sixteen_bits)
    assert (found.dtype, found.rounded) == ("fp16", True)
    assert found.classes == ("gemm", "convolution")
    assert found.factor.tolist() == pytest.approx([1 / 3, 1 / 2])
    assert found.of_eligible == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("kernel", "dtype", "factor"),
    [(SGEMM, "bf16", 1 / 2), ("volta_sgemm_128x64_nn", "fp16", 1 / 3), ("turing_sgemm", "fp16", 1 / 3)],
)
def test_names_of_kernels_tell_that_an_unnamed_device_has_tensor_cores(kernel: str, dtype: str, factor: float) -> None:
    program = Program()
    program.call("aten::mm", kernel=kernel, dtype="float")
    found = Signals.of(program.facts.trace())(in_sixteen_bits)
    assert found.dtype == dtype
    assert found.factor.tolist() == pytest.approx([factor])


def test_without_such_gemms_an_unknown_device_tells_nothing() -> None:
    program = Program()
    program.call("aten::mm", kernel="sgemm_largek_lds64")
    with pytest.raises(MissingInputError, match="peak rates"):
        Signals.of(program.facts.trace())(in_sixteen_bits)


def test_in_convolutional_networks_what_is_between_follows() -> None:
    program = Program()
    program.call("aten::cudnn_convolution", kernel="volta_scudnn_128x64_relu_interior_nn_v1", dtype="float")
    relu = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, X>()"
    _, event = program.call("aten::add", kernel=relu)
    assert on(program)(in_sixteen_bits).followers.tolist() == [event]
    program = Program()
    program.call("aten::mm", kernel=SGEMM)
    program.call("aten::add", kernel=relu)
    assert on(program)(in_sixteen_bits).followers.size == 0


def test_devices_without_narrow_tensor_cores_have_nothing_to_offer() -> None:
    program = Program()
    program.call("aten::mm", kernel=SGEMM)
    assert on(program, "Tesla V100-SXM2-32GB")(in_tf32).event.size == 0


def test_unknown_devices_abstain() -> None:
    program = Program()
    program.call("aten::mm", kernel="sgemm_largek_lds64")
    with pytest.raises(MissingInputError, match="peak rates"):
        on(program, "Some Device 9")(in_sixteen_bits)


@pytest.mark.parametrize(
    ("shapes", "strides", "expected"),
    [
        ("[[64,33],[33,16]]", "", (33, 16)),
        ("[[64,33],[33,16]]", "[[33,1],[16,1]]", (33, 16, 16)),
        # The second factor is a transposed weight of 16 rows.
        ("[[64,33],[33,16]]", "[[40,1],[1,40]]", (40, 40, 16)),
        ("[[64,33],[33,16]]", "{", (33, 16)),
        ("[[1,33],[33,16]]", "", ()),
        ("[[64]]", "", ()),
    ],
)
def test_rows_of_gemms(shapes: str, strides: str, expected: tuple[int, ...]) -> None:
    assert rows(shapes, strides) == expected


def test_odd_gemms_compare_with_even_ones_of_about_their_size() -> None:
    program = Program()
    program.call("aten::mm", (4096, 1024), (1024, 50304), kernel=GEMM, dur=2_000_000)
    _, event = program.call("aten::mm", (4096, 1024), (1024, 50257), kernel=GEMM, dur=4_000_000)
    program.call("aten::mm", (16, 16), (16, 16), kernel=GEMM, dur=2_000)
    found = on(program)(unaligned)
    assert found.event.tolist() == [event]
    assert found.factor.tolist() == pytest.approx([0.5], rel=0.01)
    assert found.sizes == Dimensions(1, 4096, 50257, 1024)
    assert found.of_step > 0.5


def test_with_nothing_of_their_size_there_is_no_factor() -> None:
    program = Program()
    program.call("aten::mm", (4096, 1024), (1024, 50257), kernel=GEMM, dur=4_000_000)
    program.call("aten::mm", (16, 16), (16, 16), kernel=GEMM, dur=2_000)
    assert np.isnan(on(program)(unaligned).factor).all()


def test_the_width_of_the_type_decides() -> None:
    program = Program()
    program.call("aten::mm", (64, 32), (32, 12), kernel=GEMM)
    program.call("aten::mm", (64, 32), (32, 12), kernel=TF32, dtype="float")
    assert on(program)(unaligned).event.tolist() == [2]
