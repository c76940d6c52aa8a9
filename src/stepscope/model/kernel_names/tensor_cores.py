"""Whether a kernel multiplies matrices on tensor cores, from its name."""

from __future__ import annotations

import re

from stepscope.model.kernel_names.kinds import LOOKED_AT, MATRIX_CLASSES, OpClass
from stepscope.model.kernel_names.parse import KernelName

_TENSOR_CORE = re.compile(
    r"tensorop|wmma|mma_|_tensor\d+x|[shdib]\d*(?:884|1688|16816|161616|8816|16832|64x)|imma"
    r"|warpgroupsize|nvjet|gtcx"
    r"|xdl|mfma|_MI\d+x\d+|flash|[Ff]mha|GemmUniversal|deep_?gemm|sm(?:90|100)a?_|sm100f|Mma|mma(?:_|$)"
)
_NO_TENSOR_CORE = re.compile(
    r"simt|ffma|gemv|gemmSN|gemmk1|(?:volta|maxwell|pascal|ampere|turing)_(?:g?c?[sdcz]|h)gemm"
    r"|_[sh]cudnn|convolve_sgemm"
    r"|(?:^|_)dot_kernel|reduce_1Block|split_?k_?reduce|ReduceSplitK|magma_|sgemm_largek"
    r"|winograd|fft2d|im2col|alg0_engine"
    r"|dgrad_engine|epilogue::impl|naive_|Offsets?Kernel|SIMT|_dl_|wvSplitK|LLGemm",
    re.IGNORECASE,
)
# Generators whose names state the matrix instruction even where a word above also occurs ("splitk").
_GENERATED = re.compile(r"xmma|tensorop|Cijk")
_CUBE = re.compile(r"(?:MatMul|Matmul|Conv[23]D|FlashAttention|PromptFlash|IncreFlash|FusedInferAttention|Gemm)")


def tensor_core(name: KernelName, op_class: OpClass, operand: str | None) -> bool | None:
    """Whether a kernel runs on tensor cores, from its name, else from its type; None if neither decides it."""
    if op_class == "other":
        # What no family knows may be a program of its own: unknown is not no.
        return None
    if op_class not in MATRIX_CLASSES:
        return False
    if not name.cxx and _CUBE.search(name.path):
        return True
    if "ffma" in name.path or (_NO_TENSOR_CORE.search(name.path) and not _GENERATED.search(name.path)):
        return False
    if "Cijk_" in name.path:
        return "_MI" in name.path
    if _TENSOR_CORE.search(name.path) or _TENSOR_CORE.search(name.args[:LOOKED_AT]):
        return True
    if operand in {"fp8", "fp4", "tf32", "int8"}:
        return True
    return None
