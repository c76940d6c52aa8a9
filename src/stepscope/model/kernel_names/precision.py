"""The operand type and the use of matrix units, as far as a kernel's name gives them away."""

from __future__ import annotations

import re
from collections.abc import Callable

from stepscope.model.kernel_names.kinds import OpClass
from stepscope.model.kernel_names.parse import KernelName

_LOOKED_AT = 600

# C++ types as they stand in template arguments and, after the bar, in mangled names.
_FLOATS: tuple[tuple[str, str], ...] = (
    ("bf16", r"BFloat16|bfloat16(?:_t)?|__nv_bfloat16\w*|hip_bfloat16|bhalf_t|(?<![A-Za-z])bf16|DF16b|11bfloat16_t"),
    ("fp16", r"(?<![A-Za-z])Half(?![A-Za-z])|(?<!b)half_t|__half\d?|(?<![A-Za-z])half(?![A-Za-z])|(?<![A-Za-z])fp16|DF16_"),
    ("fp8", r"[Ff]loat8\w*|float_e[45]m[23]\w*|__nv_fp8\w*|__hip_fp8\w*|(?<![A-Za-z])fp8\w*|(?<![A-Za-z])e[45]m[23]"),
    ("fp4", r"float_e2m1\w*|(?<![A-Za-z])e2m1|nvfp4|mxfp4|(?<![A-Za-z])fp4"),
    ("tf32", r"tfloat32_t|(?<![A-Za-z])tf32"),
    ("complex64", r"complex<float>"),
    ("complex128", r"complex<double>"),
    ("fp64", r"(?<![A-Za-z_])double(?![A-Za-z\d_])"),
    ("fp32", r"(?<![A-Za-z_])float(?:[24]|_t)?(?![A-Za-z\d_])"),
)
_INTEGERS: tuple[tuple[str, str], ...] = (
    ("int64", r"(?<![\w(])(?<!unsigned )long(?: long)?(?! ?\w)(?!\))"),
    ("int32", r"(?<![\w(])(?<!unsigned )int(?! ?\w)(?!\))"),
    ("bool", r"(?<![\w(])bool(?!\w)(?!\))"),
    ("uint8", r"(?<![\w(])unsigned char(?!\w)"),
)


def _any_of(types: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in types))


_FLOAT = _any_of(_FLOATS)
_INTEGER = _any_of(_INTEGERS)
_TEMPLATED = re.compile(r"<|\(|I[A-Zf]")

_TENSILE = re.compile(r"Cijk_[A-Za-z]+_[A-Za-z]+_(4x|F8|B8|F6|B6|F4|I8|[A-Z])")
_TENSILE_TYPES = {"B": "bf16", "H": "fp16", "S": "fp32", "D": "fp64", "F8": "fp8", "B8": "fp8", "I8": "int8"}
_TENSILE_TYPES |= {"C": "complex64", "Z": "complex128", "4x": "int8", "X": "tf32", "F4": "fp4", "F6": "fp6", "B6": "fp6"}
_NVJET = re.compile(r"nvjet_(?:sm\d+_)?([a-z])")
_NVJET_TYPES = {"t": "bf16", "h": "fp16", "s": "fp32", "q": "fp8", "d": "fp64"}
# "bf16bf16_bf16f32_f32": the types of A and B, then of C and the accumulator.
_XMMA = re.compile(r"_(bf16|tf32|e4m3|e5m2|f16|f32|f64|i8)(?:bf16|tf32|e4m3|e5m2|f16|f32|f64|i8|i32)_")
_XMMA_TYPES = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "i8": "int8", "e4m3": "fp8", "e5m2": "fp8"}
_WORDS = re.compile(r"(?<![A-Za-z\d])(?:Mx|Qkv|MX)?(bf16|tf32|fp16|f16|e4m3|e5m2|fp8|mxfp4|e2m1|Bfloat16|E4m3|E2m1|int8|f32|half)")
_WORD_TYPES = _XMMA_TYPES | {"mxfp4": "fp4", "e2m1": "fp4", "bfloat16": "bf16", "half": "fp16"}
_NCCL = re.compile(r"_(f32|f16|bf16|f64|i8|u8|i32|u32|i64|u64|f8e4m3|f8e5m2|float|half|__nv_bfloat16|hip_bfloat16|int8_t)\b", re.I)
_NCCL_LATE = re.compile(r"_(f32|f16|bf16|f64|i8|u8|i32|i64|f8e4m3|f8e5m2)_")
_NCCL_TYPES = _XMMA_TYPES | {"u8": "uint8", "i32": "int32", "i64": "int64", "float": "fp32", "half": "fp16"}
_NCCL_TYPES |= {"u32": "uint32", "u64": "uint64", "__nv_bfloat16": "bf16", "hip_bfloat16": "bf16", "int8_t": "int8"}
_NCCL_TYPES |= {"f8e4m3": "fp8", "f8e5m2": "fp8", "bf16": "bf16"}
# BLAS letters: sgemm, hgemm, dgemm, cgemm, zgemm; scudnn, hcudnn. A number between is the matrix instruction's shape.
_BLAS = re.compile(r"(?:^|_)(?:g?c)?([shdcz])(\d{3,5})?(?:gemm|cudnn|gemv|fprop|dgrad|wgrad)")
_BLAS_TYPES = {"s": "fp32", "h": "fp16", "d": "fp64", "c": "complex64", "z": "complex128"}
_CK_TYPES = re.compile(r"(?:I|[a-z\d]E?)(t{2,3}f|t{3})")

_MATRIX_UNIT = re.compile(
    r"tensorop|wmma|mma_|_tensor\d+x|[shdib]\d*(?:884|1688|16816|161616|8816|16832|64x)|imma|warpgroupsize|nvjet|gtcx"
    r"|xdl|mfma|_MI\d+x\d+|flash|[Ff]mha|GemmUniversal|deep_?gemm|sm(?:90|100)a?_|sm100f|Mma|mma(?:_|$)"
)
_NO_MATRIX_UNIT = re.compile(
    r"simt|ffma|gemv|gemmSN|gemmk1|(?:volta|maxwell|pascal|ampere|turing)_(?:g?c?[sdcz]|h)gemm|_[sh]cudnn|convolve_sgemm"
    r"|(?:^|_)dot_kernel|reduce_1Block|split_?k_?reduce|ReduceSplitK|magma_|sgemm_largek|winograd|im2col|alg0_engine"
    r"|dgrad_engine|epilogue::impl|naive_|Offsets?Kernel|SIMT|_dl_|wvSplitK|LLGemm",
    re.IGNORECASE,
)
_MATRIX_CLASSES: frozenset[OpClass] = frozenset({"gemm", "attention", "convolution"})
_CUBE = re.compile(r"(?:MatMul|Matmul|Conv[23]D|FlashAttention|PromptFlash|IncreFlash|FusedInferAttention|Gemm)")


def dtype(name: KernelName, op_class: OpClass) -> str | None:
    """The operand type a name tells, in PyTorch's short words; None if it does not tell."""
    readers: tuple[Callable[[KernelName], str | None], ...]
    if op_class == "collective":
        readers = (_collective,)
    elif op_class in _MATRIX_CLASSES:
        readers = (_library, _template, _word)
    else:
        readers = (_template, _word)
    for reader in readers:
        if found := reader(name):
            return found
    return None


def tensor_core(name: KernelName, op_class: OpClass, operand: str | None) -> bool | None:
    """Whether a kernel runs on matrix units: from its name, else from its type where that decides it."""
    if op_class not in _MATRIX_CLASSES:
        return False
    if not name.cxx and _CUBE.search(name.path):
        return True
    if _NO_MATRIX_UNIT.search(name.path) and not re.search(r"xmma|tensorop|Cijk", name.path):
        return False
    if "ffma" in name.path or "simt" in name.path:
        return False
    if "Cijk_" in name.path:
        return "_MI" in name.path
    if _MATRIX_UNIT.search(name.path) or _MATRIX_UNIT.search(name.args[:_LOOKED_AT]):
        return True
    if operand in {"fp8", "fp4", "tf32", "int8"}:
        return True
    return None


def _template(name: KernelName) -> str | None:
    arguments = name.args[:_LOOKED_AT]
    if not _TEMPLATED.match(arguments):
        return None
    found = _FLOAT.search(arguments) or (_INTEGER.search(arguments) if name.args[0] in "<(" else None)
    if found is not None:
        return found.lastgroup
    if name.path.startswith("ck::") and (letters := _CK_TYPES.search(arguments)):
        # Composable Kernel keeps bf16 in unsigned short, whose mangling is "t".
        return "bf16" if letters else None
    return None


def _library(name: KernelName) -> str | None:
    """Types as the GEMM and convolution libraries write them into their kernels' names."""
    path = name.path
    if found := _TENSILE.search(path):
        return _TENSILE_TYPES.get(found.group(1))
    if found := _NVJET.search(path):
        return _NVJET_TYPES.get(found.group(1))
    if found := _XMMA.search(path):
        return _XMMA_TYPES.get(found.group(1), found.group(1))
    if "gemm" not in path and "cudnn" not in path and "tensorop" not in path:
        return None
    return _word(name) or _blas(path)


def _blas(path: str) -> str | None:
    found = _BLAS.search(path)
    if found is None:
        return None
    letter, shape = found.groups()
    if letter == "s" and shape is not None:
        # A single-precision result from a matrix instruction: TF32 if shaped 1688 on sm80, fp16 before that.
        return "tf32" if shape == "1688" and "turing" not in path and "_75_" not in path else "fp16"
    return _BLAS_TYPES[letter]


def _word(name: KernelName) -> str | None:
    found = _WORDS.search(name.path)
    if found is None:
        return None
    word = found.group(1).lower()
    return _WORD_TYPES.get(word, word)


def _collective(name: KernelName) -> str | None:
    found = _NCCL.search(name.path) or _NCCL_LATE.search(name.path)
    if found is None:
        return _template(name) if name.args.startswith("<") else None
    word = found.group(1).lower()
    return _NCCL_TYPES.get(word, word)
