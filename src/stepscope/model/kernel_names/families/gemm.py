"""Matrix products: cuBLAS, cuBLASLt (nvjet), CUTLASS 2 and 3, TensorRT-LLM, DeepGEMM, MAGMA, rocBLAS, hipBLASLt, CK."""

from __future__ import annotations

import re

from stepscope.model.kernel_names.rules import Family, exact, rule

FAMILY = Family(
    "matrix products",
    re.compile(
        r"gemm|gemv|cijk|nvjet|cutlass|xmma|cublas|matmul|(?:^|[_:])b?mm[_\dA-Z]|(?:^|_)dot_|splitk|split_k|rocblas"
        r"|hipblas|trsm|syrk|symm|magma|ger_kernel|s884|s1688|s16816|imma|reduce_1Block|epilogue|gett|tensorop|scal_kernel"
        r"|grouped_mm|fused_moe_kernel|moe_gemm|marlin|addmm|wvsplit|llmm|machete|fused_moe|_mxfp|deep_?gemm|mmvq|mul_mat"
        r"|mfma_moe|fmoe|moe_ck|cuda_core_|tinygemm|w[48]a(?:8|16)",
        re.IGNORECASE,
    ),
    (
        rule("copy", r"gemm_?(?:pack|transpose|reorder)|marlin_repack|repack_kernel"),
        rule("attention", r"fmha|(?:^|::)flash"),
        rule("normalisation", r"(?:layer|rms)_?norm"),
        rule("convolution", r"::conv::|ImplicitGemmConvolution"),
        rule("elementwise", r"(?:^|_)scal_kernel", r"quantize_(?!.*gemm)|per_(?:token|tensor)\w*_quant"),
        rule("reduction", r"(?:fused_)?moe_(?:align|sum|topk|sort)|moe_fused_gate"),
        rule("gemm", r"cijk_|nvjet|gemm|gemv|trsm|syrk|matmul|xmma_|split_?k_?reduce|splitk|ReduceSplitK"),
        rule("gemm", r"cutlass|cublas|rocblas|hipblas|magma|(?:^|_)dot_(?:kernel|product)|reduce_1Block|epilogue::impl"),
        rule("gemm", r"(?:^|[_:])(?:grouped_|batched_|scaled_)?b?mm_|fused_moe|moe_gemm|marlin|machete|wvsplit|llmm"),
        rule("gemm", r"s884|s1688|s16816|imma|tensorop|mul_mat|mmvq|addmm|fmoe|moe_ck|mfma_moe|ger_kernel|gett|_mxfp"),
        exact("gemm", r"^b?mm(?:_|$)", r"^cuda_core_", r"w[48]a(?:8|16)"),
    ),
)
