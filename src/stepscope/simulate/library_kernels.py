"""Kernel names of the math libraries, by device and element type."""

from __future__ import annotations

from stepscope.simulate import ascend_kernels
from stepscope.simulate.devices import SimDevice

SCALARS = {"bf16": "c10::BFloat16", "fp16": "c10::Half", "fp32": "float"}
_SHORT = {"bf16": "bf16", "fp16": "fp16", "fp32": "f32"}


def gemm_name(device: SimDevice, dtype: str, tile: int, layout: str, batch: int = 1) -> str:
    """Name of a GEMM with square tiles; ``layout`` is ``nn``, ``tn`` or ``nt``."""
    if device.vendor == "huawei":
        return ascend_kernels.BATCH_MATMUL if batch > 1 else ascend_kernels.MATMUL
    short = _SHORT[dtype]
    if device.vendor == "amd":
        letters = {"bf16": "BBS_BH", "fp16": "HHS_BH", "fp32": "SB"}[dtype]
        return (
            f"Cijk_A{'lik' if layout[0] == 't' else 'ilk'}_B{'jlk' if layout[1] == 't' else 'ljk'}_{letters}"
            f"_Bias_HA_S_SAV_UserArgs_MT{tile}x{tile}x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1"
        )
    major = device.capability[0]
    if major == 7:
        if dtype == "fp32":
            return f"volta_sgemm_{tile}x64_{layout}"
        return f"volta_fp16_s884gemm_fp16_{tile}x{tile}_ldg8_f2f_{layout}"
    if major == 8:
        if dtype == "fp32":
            return f"ampere_sgemm_{tile}x64_{layout}"
        return f"ampere_{short}_s16816gemm_{short}_{tile}x{tile}_ldg8_f2f_stages_64x3_{layout}"
    if dtype == "fp32":
        kernel = f"cutlass_80_simt_sgemm_{tile}x64_8x5_{layout}_align1"
        return f"void cutlass::Kernel2<{kernel}>({kernel}::Params)"
    types = {"bf16": "tst", "fp16": "hsh"}[dtype]
    if major == 9:
        return f"nvjet_{types}_{tile}x{tile}_64x5_1x2_h_bz_coopA_{layout.upper()}T"
    return f"nvjet_{types}_{tile}x256_64x4_2x1_2cta_v_bz_{layout.upper()}T"


def attention_name(device: SimDevice, dtype: str, width: int, backward: bool) -> str:
    """Name of a fused attention kernel."""
    if device.vendor == "huawei":
        return ascend_kernels.attention(backward)
    if device.vendor == "amd":
        return "bwd_kernel_dk_dv.kd" if backward else "attn_fwd.kd"
    element = "cutlass::bfloat16_t" if dtype == "bf16" else "cutlass::half_t"
    if dtype == "fp32":
        way = "Backward" if backward else ""
        return (
            f"fmha_cutlass{'B' if backward else 'F'}_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::"
            f"Attention{way}Kernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)"
        )
    if device.capability[0] == 9:
        # FlashAttention-2 was written for the generation before; what is fast on this one is cuDNN's.
        what = f"{'bprop' if backward else 'fprop'}_wgmma_{'bf16' if dtype == 'bf16' else 'f16'}"
        return f"cudnn_generated_fort_native_sdpa_sm90_flash_{what}_knob_7_64x128x{width}_4x1x1_kernel0_0"
    if backward:
        traits = f"Flash_bwd_kernel_traits<{width}, 64, 128, 8, 2, 4, 4, true, false, {element}>"
        return (
            "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<"
            f"pytorch_flash::{traits}, false, "
            "true, false, false, true, true, false>(pytorch_flash::Flash_bwd_params)"
        )
    traits = f"Flash_fwd_kernel_traits<{width}, 128, 128, 4, false, false, {element}>"
    return (
        f"void pytorch_flash::flash_fwd_kernel<pytorch_flash::{traits}, false, true, false, false, true, "
        "true, false, false>(pytorch_flash::Flash_fwd_params)"
    )


def conv_name(device: SimDevice, dtype: str, which: str) -> str:
    """Name of a convolution kernel; ``which`` is ``fprop``, ``dgrad`` or ``wgrad``."""
    if device.vendor == "huawei":
        return ascend_kernels.CONVOLUTIONS[which]
    if device.vendor == "amd":
        way = {"fprop": "fwd", "dgrad": "bwd", "wgrad": "wrw"}[which]
        return f"igemm_{way}_gtcx3_nhwc_{_SHORT[dtype]}_bx0_ex0_bt128x128x32_wt32x32x8_ws1x1_wr2x2.kd"
    if device.capability[0] == 7 and dtype == "fp16":
        way = {"fprop": "relu_f2f", "dgrad": "dgrad_f2f", "wgrad": "wgrad_idx"}[which]
        return f"volta_fp16_s884cudnn_fp16_128x128_ldg8_{way}_exp_interior_nhwc_{'nt' if which == 'wgrad' else 'tn'}_v1"
    if device.capability[0] == 7:
        return f"volta_scudnn_128x64_{'relu' if which == 'fprop' else 'stridedB'}_interior_nn_v1"
    if dtype == "fp32":
        return f"void cudnn::cnn::{which}_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int, int)"
    kind = {"bf16": "bf16bf16_bf16f32", "fp16": "f16f16_f16f32"}[dtype]
    return (
        f"sm80_xmma_{which}_implicit_gemm_{kind}_f32_nhwckrsc_nhwc_tilesize128x128x64_stage4_warpsize2x2x1_g1"
        "_tensor16x8x16_kernel_cudnn"
    )


def collective_kernel(device: SimDevice, dtype: str, name: str) -> str:
    """Name of the kernel that runs a collective, which goes by the process group's name for it."""
    if device.vendor == "huawei":
        return ascend_kernels.COLLECTIVES[name]
    if device.vendor == "amd":
        return "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"
    short = {
        "send": "SendRecv",
        "recv": "SendRecv",
        "all_to_allv": "SendRecv",
        "allreduce": f"AllReduce_Sum_{_SHORT[dtype]}_",
        "_allgather_base": "AllGather_",
        "_reduce_scatter_base": f"ReduceScatter_Sum_{_SHORT[dtype]}_",
    }[name]
    ring = "" if short == "SendRecv" else "RING_LL"
    return f"ncclDevKernel_{short}{ring}(ncclDevKernelArgsStorage<4096ul>)"
