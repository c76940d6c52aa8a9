"""Kernel names of every vendor: class, collective, operand type and use of tensor cores."""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.kernel_names import OP_CLASSES, classify
from stepscope.model.kernel_names.mangled import identifiers, qualified_name
from stepscope.model.kernel_names.parse import parse
from stepscope.model.kernel_names.short import WIDTH
from support import shared

AN = "(anonymous namespace)"
MULTI = f"void at::native::{AN}::multi_tensor_apply_kernel<at::native::{AN}::TensorListMetadata<2>, {AN}::"

CLASSES = {
    "copy": [
        "Memcpy HtoD (Pageable -> Device)",
        "Memset (Device)",
        "[CUDA memcpy Host-to-Device]",
        "[CUDA memset]",
        "hipMemcpyAsync",
        "hipMemsetD8Async",
        "CopyDeviceToHost",
        "__amd_rocclr_copyBuffer",
        "__amd_rocclr_fillBufferAligned",
        f"void at::native::{AN}::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)",
        "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(x)",
        "batched_transpose_16x32_half",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(x)",
        MULTI + "CopyFunctor<c10::BFloat16, float, 2, 1, 1> >()",
        "TransData",
        "trans_TransData_12",
        "Conv2DBackpropFilter10_MemSet",
        "dma_request",
    ],
    "collective": [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
        "ncclSymkDevKernel_AllGather_STMC",
        "rcclGenericKernel<1, false>(x)",
        "nccl:all_reduce",
        "gloo:all_gather",
        "oneccl_allreduce_kernel",
        "HcclAllReduce",
        "hcom_allReduce__868_0_1",
        "hcom_reduceScatter_",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(x)",
        "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)",
        "void kuserbuffers_pushrecv(int, int, int*, int*, int)",
        "void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8>(x)",
        "nvshmemi_transfer_rma_p2p",
        "rocshmem_alltoallmem_kernel",
        "two_shot_all_reduce_kernel_inplace",
        f"void {AN}::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
    ],
    "gemm": [
        "volta_sgemm_128x64_tn",
        "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_execute_kernel__5x_cublas",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_kernel__5x_cublas",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>(x)",
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::bfloat16_t>>",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN",
        "nvjet_sm100_tst_64x32_64x16_2x1_2cta_v_bz_TNT",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>(x)",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float>(x)",
        "void gemmSN_NN_kernel<float, 256, 4, 2>(x)",
        "void dot_kernel<float, 128, 0>(x)",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32_MI16x16x1_SN",
        "rocblas_gemvn_kernel",
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_sm100f",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu",
        "triton_tem_fused_mm_5",
        "fused_moe_kernel",
        "MatMulV3",
        "aclnnAddmm_MatMulCommon_MatMulV2",
        "BatchMatMul101",
        "MatmulAllReduce",
    ],
    "attention": [
        "RingMLAKernel",
        "LightningIndexer",
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, cutlass::bfloat16_t> >(x)",
        "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<cutlass::bfloat16_t> > >(x)",
        "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<x>::Params)",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3",
        "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, __nv_bfloat16>()",
        "void vllm::paged_attention_v2_kernel<__half, __half, 128, 16>()",
        "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_40BlockFmhaBatchPrefillE",
        "attn_fwd",
        "kernel_unified_attention_2d",
        "triton_tem_fused_flex_attention_0",
        "FlashAttentionScoreGrad",
    ],
    "convolution": [
        "convolution_convert_fusion",
        "convBiasActivForward",
        "volta_scudnn_128x64_relu_medium_nn_v1",
        "cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1",
        "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_tensor16x8x8",
        "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(x)",
        "void fft2d_c2r_32x32<float, false>(x)",
        "_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblockE",
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32",
        "miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1.kd",
        "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_3fooE",
        "Conv2DBackpropInput5",
    ],
    "normalisation": [
        "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(x)",
        f"void at::native::{AN}::vectorized_layer_norm_kernel<c10::BFloat16, float>(x)",
        "void at::native::batch_norm_backward_kernel<c10::BFloat16, c10::BFloat16, float, int>(x)",
        "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
        "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(x)",
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0EEE",
        "MIOpenBatchNormFwdTrainSpatial",
        "triton_per_fused_native_layer_norm_0",
        "triton_red_fused_add_mean_mul_pow_rsqrt_0",
        "LayerNormV3",
    ],
    "elementwise": [
        "void at::native::elementwise_kernel<128, 2, gpu_kernel_impl<at::native::CUDAFunctor_add<float> > >(x)",
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(x)",
        "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>(x)",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(x)",
        "void vllm::convert_fp8_kernel<unsigned char, float, 0>(x)",
        "void cudnn::ops::convertTensor_kernel<float, float, float, (cudnnKernelDataType_t)2>(x)",
        "loop_convert_fusion_3",
        "wrapped_convert",
        "loop_multiply_fusion",
        "triton_poi_fused__unsafe_view_mul_silu_2",
        "at::native::xpu::VectorizedElementwiseKernel<4, at::native::xpu::AddFunctor<float>>",
        "SubTensorOpWithScalar1d",
        "add_kernel",
        "Cast186",
        "aclnnMuls_MulAiCore_Mul",
    ],
    "reduction": [
        "input_convert_reduce_fusion_2",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(x)",
        f"void {AN}::softmax_warp_forward<float, float, float, 10, true, false>(x)",
        f"void at::native::{AN}::max_pool_forward_nchw<float, float>(x)",
        "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800>(x)",
        MULTI + "LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0>, float>()",
        "void vllm::moe::topkGatingSoftmax<4, 64, 4, 16>(float const*)",
        "ReduceSum146",
    ],
    "embedding": [
        f"void at::native::{AN}::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(x)",
        "void at::native::vectorized_gather_kernel<16, long>(x)",
        "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float>(x)",
        "GatherV282",
    ],
    "optimizer": [
        MULTI + "FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)0, false>, float const*>()",
        MULTI + "BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>()",
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(x)",
        "triton_for_fused_0",
        "ApplyAdamW175",
    ],
    "other": [
        "my_fancy_kernel",
        "event_wait",
        "void probe_GPU2<128, 4>(int*)",
        "",
        " ",
        "_Z",
        "<<<<((((",
        "std::enable_if<",
    ],
}


@pytest.mark.parametrize(("op_class", "name"), [(k, name) for k, names in CLASSES.items() for name in names])
def test_class(op_class: str, name: str) -> None:
    assert classify(name).op_class == op_class


def test_every_class_is_covered() -> None:
    assert set(CLASSES) == set(OP_CLASSES)


@pytest.mark.parametrize(
    ("name", "collective", "dtype"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce", "bf16"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)", "reduce_scatter", "fp32"),
        ("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32(x)", "all_reduce", "fp32"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(x)", "send_recv", "int8"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t(x)", "broadcast", "int8"),
        ("ncclDevKernel_Generic(x)", None, None),
        ("hcom_batchSendRecv__128_3_1", "send_recv", None),
        ("hcom_allGather__328_3", "all_gather", None),
        ("void vllm::cross_device_reduce_2stage<__half, 4>(x)", "all_reduce", "fp16"),
        ("void deep_ep::internode_ll::combine<true, 3, 7168, 9>(float*)", "combine", None),
    ],
)
def test_which_collective(name: str, collective: str | None, dtype: str | None) -> None:
    found = classify(name)
    assert (found.op_class, found.collective, found.dtype) == ("collective", collective, dtype)


@pytest.mark.parametrize(
    ("name", "tensor_core", "dtype"),
    [
        ("volta_sgemm_128x64_tn", False, "fp32"),
        ("ampere_dgemm_64x64_nn", False, "fp64"),
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", True, "fp16"),
        ("turing_h1688gemm_128x128_ldg8_nn", True, "fp16"),
        ("volta_hgemm_64x32_sliced1x4_tn", False, "fp16"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(x)", True, "tf32"),
        ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(x)", False, "fp32"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_ffma_aligna4", False, "fp32"),
        ("sm86_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize256x128x64", True, "int8"),
        ("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128", True, "fp8"),
        ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT", True, "fp16"),
        ("nvjet_sm100_qqtst_128x64_128x6_2x1_2cta_h_bz_TNT", True, "fp8"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_K1", True, "fp16"),
        ("Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT16x16x128_MI16x16x1", True, "fp32"),
        ("Cijk_Alik_Bljk_SB_MT64x64x16_SE_K1_TT4_4", False, "fp32"),
        ("igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x64", True, "bf16"),
        ("volta_scudnn_128x64_relu_medium_nn_v1", False, "fp32"),
        ("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal", True, "fp8"),
        ("MatMulV2", True, None),
        ("attn_fwd", None, None),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>, x>(x)",
            False,
            "fp16",
        ),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<long>, x>(x)", False, "int64"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::nan_to_num_kernel_cuda(at::TensorIterator&, "
            "c10::optional<double>)::{lambda()#1}::operator()() const::{lambda(float)#1}, x>(x)",
            False,
            "fp32",
        ),
        (
            f"void at::native::{AN}::CatArrayBatchedCopy<at::native::{AN}::OpaqueType<2u>, unsigned int, 4>(int)",
            False,
            None,
        ),
    ],
)
def test_precision(name: str, tensor_core: bool | None, dtype: str | None) -> None:
    found = classify(name)
    assert (found.tensor_core, found.dtype) == (tensor_core, dtype)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(x)",
            "reduce_kernel<Mean>",
        ),
        (
            "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, "
            "at::native::binary_internal::MulFunctor<float> > > >(x)",
            "elementwise_kernel<Mul>",
        ),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32_MI16x16x1_SN", "Cijk_Alik_Bljk_BBS MT128x256x32"),
        ("hcom_allReduce__868_0_1", "hcom_allReduce"),
        ("LpNormReduceV2158", "LpNormReduceV2"),
        ("MatMulV2", "MatMulV2"),
        ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EEE", "add_rmsnorm_quant_kernel"),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(x)", "gemvx::kernel"),
        (
            "void clover::par_ranged2d_kernel<PdV_kernel(bool, Buffer<double (*)(int)> &)::[lambda(int, int) "
            "(instance 1)]>(clover::Range2d, T1)",
            "par_ranged2d_kernel<PdV>",
        ),
        (
            "void Kokkos::Impl::cuda_parallel_launch<Kokkos::Impl::ParallelFor<Solver::run(int) const::[lambda(int) "
            "(instance 1)], Kokkos::Cuda>>(T1)",
            "cuda_parallel_launch<Solver::run>",
        ),
        ("void amrex::launch<256, move(int)::{lambda(int)#1}>(x)", "launch<move>"),
        ("void launch<256, )::[lambda(int) (instance 1)]>(x)", "launch"),
    ],
)
def test_short(name: str, short: str) -> None:
    assert classify(name).short == short


@pytest.mark.parametrize(
    "name", ["Cijk_" + "A_" * 50_000, "a_" * 50_000, "std::enable_if<" + "<(" * 50_000, "_ZN" + "1a" * 50_000]
)
def test_endless_names_are_cut(name: str) -> None:
    parsed = parse(name)
    assert len(parsed.path) + len(parsed.args) <= 2 * 4_096
    assert len(classify(name).short) <= WIDTH


def test_mangled_names_are_read_as_the_demangled_ones() -> None:
    mangled = "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_"
    demangled = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(x)"
    assert classify(mangled) == classify(demangled)
    assert qualified_name("_Z10add_kernelPfS_i") == ("add_kernel", "PfS_i")
    assert identifiers("ILi512ENS0_8ReduceOpIfE") == ["ReduceOp"]


def test_wrappers_stand_for_what_they_run() -> None:
    name = "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(x)"
    assert parse(name).base == "cutlass_80_simt_sgemm_128x32_8x5_nn_align1"


@given(st.text(max_size=200))
def test_no_text_fails(name: str) -> None:
    found = classify(name)
    assert found.op_class in OP_CLASSES
    assert len(found.short) <= WIDTH


@given(
    st.lists(st.sampled_from(["_Z", "N", "I", "E", "99999999", "4conv", "S_", "L", "<", ">", "(", ")", "::", "void "]))
)
def test_no_broken_name_fails(parts: list[str]) -> None:
    assert classify("".join(parts)).op_class in OP_CLASSES


def _kineto(path: Path) -> Iterator[tuple[str, float]]:
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        trace = json.load(file, strict=False)
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat", "").lower() in {"kernel", "gpu_memcpy", "gpu_memset"}:
            yield event["name"], float(event.get("dur", 0))


def _nsys(path: Path) -> Iterator[tuple[str, float]]:
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        yield from connection.execute(
            'SELECT s.value, k."end" - k.start FROM CUPTI_ACTIVITY_KIND_KERNEL k '
            "JOIN StringIds s ON s.id = k.demangledName"
        )
    finally:
        connection.close()


def _ascend(path: Path) -> Iterator[tuple[str, float]]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["Name"], float(row["Duration(us)"])


@pytest.mark.parametrize(
    "parts",
    [
        ("kineto", "h100_qwen05b_infer", "trace.json.gz"),
        ("kineto", "mi210_gpu_only", "trace.json.gz"),
        ("kineto", "mi300_resnet_recompute_ddp8", "trace.json.gz"),
        ("kineto", "b200_ws8_eager", "trace.json.gz"),
        ("kineto", "rocm_vllm_piecewise_graphs", "trace.json.gz"),
        ("kineto", "ws128_two_ranks", "rank-0.json.gz"),
        ("nsys", "mfu_2gpu_before.sqlite"),
        ("nsys", "windows_low_util.sqlite"),
        ("ascend", "mstt_compute_advice", "kernel_details.csv"),
    ],
    ids="/".join,
)
def test_recordings_leave_less_than_a_percent_in_other(parts: tuple[str, ...]) -> None:
    path = shared(*parts)
    reader = {"kineto": _kineto, "nsys": _nsys, "ascend": _ascend}[parts[0]]
    time: Counter[str] = Counter()
    for name, duration in reader(path):
        time[classify(name).op_class] += round(duration * 1000)
    assert time["other"] < 0.01 * time.total()


# The categories that mean one class; the others (runtime, triton, multi_tensor_apply, other) do not.
_CATEGORIES = {"GEMM": "gemm", "elementwise": "elementwise", "reduce": "reduction", "NORM_fwd": "normalisation"}


@pytest.mark.parametrize("trace", ["h100_bert_small", "h100_qwen05b_infer", "mi300_bert_small", "mi300_qwen05b_infer"])
def test_agrees_with_the_operators_that_launched_the_kernels(trace: str) -> None:
    path = shared("kineto", trace, "expected_kernel_summary.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Parent op category"] in _CATEGORIES]
    expected = {row["Kernel name"]: _CATEGORIES[row["Parent op category"]] for row in rows}
    found = {name: classify(name).op_class for name in expected if not name.startswith("Mem")}
    assert found == {name: expected[name] for name in found}
    assert found
