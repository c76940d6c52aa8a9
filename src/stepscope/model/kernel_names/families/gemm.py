"""GEMMs: cuBLAS, cuBLASLt (nvjet), CUTLASS, TensorRT-LLM, DeepGEMM, rocBLAS, hipBLASLt, CK."""

from __future__ import annotations

from stepscope.model.kernel_names.rules import Family, exact, rule

FAMILY = Family(
    "matrix multiplications",
    (
        *(
            "gemm",
            "gemv",
            "cijk",
            "nvjet",
            "cutlass",
            "xmma",
            "cublas",
            "matmul",
            "mm_",
            "dot_",
            "splitk",
            "split_k",
        ),
        *("rocblas", "hipblas", "trsm", "syrk", "magma", "s884", "s1688", "s16816", "imma", "reduce_1block"),
        *(
            "epilogue",
            "tensorop",
            "scal_kernel",
            "moe",
            "marlin",
            "addmm",
            "wvsplit",
            "llmm",
            "machete",
            "_mxfp",
            "weight_only",
            "flatmm",
        ),
        *("mul_mat", "mmvq", "mfma", "cuda_core_", "ger_kernel", "gett", "w4a8", "w8a8", "w4a16", "w8a16"),
    ),
    (
        rule("copy", r"gemm_?(?:::)?(?:pack|transpose|reorder)|marlin_repack|repack_kernel"),
        rule("attention", r"fmha|(?:^|::)flash"),
        rule("normalisation", r"(?:layer|rms)_?norm|(?:fused|add)_rms"),
        rule("convolution", r"::conv::|implicitgemmconvolution"),
        rule("elementwise", r"(?:^|_)scal_kernel", r"quantize_(?!.*gemm)|per_(?:token|tensor)\w*_quant"),
        rule("elementwise", r"(?:^|[:_])convert(?:_?kernel)?$", r"mxfp\d_quant(?:_kernel)?$"),
        rule(
            "reduction",
            r"(?:fused_)?moe_?(?:align|sum|topk|sort|mxfp\d_sort)|moe_fused_gate|finalize_?moe"
            r"|matmul_backward_bias",
        ),
        rule("gemm", r"cijk_|nvjet|gemm|gemv|trsm|syrk|matmul|xmma_|split_?k_?reduce|splitk|reducesplitk"),
        rule(
            "gemm",
            # What else TensorRT-LLM keeps in `cutlass_kernels` is none.
            r"cutlass(?!_kernels)|cublas|rocblas|hipblas|magma|(?:^|_)dot_(?:kernel|product)|reduce_1block"
            r"|epilogue::impl",
        ),
        rule(
            "gemm",
            r"(?:^|[_:])(?:grouped_|batched_|scaled_)?b?mm_|fused_moe|moe_gemm|marlin|machete|wvsplit|llmm",
        ),
        rule(
            "gemm",
            r"s884|s1688|s16816|imma|tensorop|mul_mat|mmvq|addmm|fmoe|moe_ck|moe_(?:vec_)?q\d|mfma_moe|ger_kernel|gett|_mxfp|flatmm",
        ),
        exact("gemm", r"^b?mm(?:_|$)", r"^cuda_core_", r"w[48]a(?:8|16)", r"weight_only::kernel$"),
    ),
)
