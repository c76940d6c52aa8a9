"""Operand type of a kernel, as far as its name states it."""

from __future__ import annotations

import re
from collections.abc import Callable

from stepscope.model.kernel_names.kinds import LOOKED_AT, MATRIX_CLASSES, OpClass
from stepscope.model.kernel_names.parse import KernelName

# C++ types as they stand in template arguments, whole words.
_FLOATS: tuple[tuple[str, str], ...] = (
    ("bf16", r"BFloat16|bfloat16(?:_t)?|__nv_bfloat16\d?|__hip_bfloat16\d?|hip_bfloat16|bhalf_t|bf16\w*"),
    ("fp16", r"Half|half(?:_t|\d)?|__half\d?|_Float16|fp16\w*"),
    ("fp8", r"[Ff]loat8\w*|float_e[45]m[23]\w*|float_ue8m0\w*|__nv_fp8\w*|__hip_fp8\w*|fp8\w*|e[45]m[23]\w*"),
    ("fp4", r"float_e2m1\w*|e2m1\w*|nvfp4|mxfp4|fp4\w*"),
    ("tf32", r"tfloat32_t|tf32\w*"),
    ("complex64", r"complex<float>"),
    ("complex128", r"complex<double>"),
    ("fp64", r"double[24]?"),
    ("fp32", r"float(?:[24]|_t)?"),
)
# The same in mangled names; a length stands before a class's name, a letter for a built-in type.
_MANGLED_FLOATS: tuple[tuple[str, str], ...] = (
    ("bf16", r"DF16b|8BFloat16|10bfloat16_t|11bfloat16_t|13__nv_bfloat16|14__hip_bfloat16|12hip_bfloat16"),
    ("fp16", r"DF16_|4Half|6half_t|6__half"),
    ("fp8", r"\d+Float8_\w|\d+float_e[45]m[23]|\d+__nv_fp8|\d+__hip_fp8"),
    ("tf32", r"10tfloat32_t|_tf32"),
    ("fp64", r"(?<=I)d(?=[dELiNS\d])|(?<=[EI_])dd|(?<=E)d(?=E)"),
    ("fp32", r"(?<=I)f(?=[fELiNS\d])|(?<=[EI_])ff|(?<=E)f(?=E)"),
)
_INTEGERS: tuple[tuple[str, str], ...] = (
    ("int64", r"(?<![\w])(?<!unsigned )(?<!\(unsigned )long(?: long)?(?! ?\w)(?!\))"),
    ("int32", r"(?<!\w)(?<!unsigned )(?<!\(unsigned )int(?! ?\w)(?!\))"),
    ("bool", r"(?<!\w)bool(?!\w)(?!\))"),
    ("uint8", r"(?<!\w)unsigned char(?!\w)"),
)


def _any_of(types: tuple[tuple[str, str], ...]) -> str:
    return "|".join(f"(?P<{name}>{pattern})" for name, pattern in types)


_FLOAT = re.compile(rf"\b(?:{_any_of(_FLOATS)})(?!\w)")
_MANGLED_FLOAT = re.compile(_any_of(_MANGLED_FLOATS))
_INTEGER = re.compile(_any_of(_INTEGERS))
_TEMPLATED = re.compile(r"<|\(|I[A-Zf\d]")
_OPAQUE = 200
_LONGEST_FUNCTOR = 1_200
_INTEGERS_WITHIN = 250
# The parameters of a functor's lambda, as demangled ("{lambda(float)#1}") or by nsys ("[lambda(float)
# (instance 1)]"); a lone int is the index that every elementwise launch passes.
_LAMBDA = re.compile(r"[{\[]lambda\((?!int\)|\))([^()]*)\)")
_TENSILE = re.compile(r"Cijk_[A-Za-z]+_[A-Za-z]+_(4x|F8|B8|F6|B6|F4|I8|[A-Z])")
_TENSILE_TYPES = {"B": "bf16", "H": "fp16", "S": "fp32", "D": "fp64", "F8": "fp8", "B8": "fp8", "I8": "int8"}
_TENSILE_TYPES |= {
    "C": "complex64",
    "Z": "complex128",
    "4x": "int8",
    "X": "tf32",
    "F4": "fp4",
    "F6": "fp6",
    "B6": "fp6",
}
_NVJET = re.compile(r"nvjet_(?:sm\d+_)?([a-z])")
_NVJET_TYPES = {"t": "bf16", "h": "fp16", "s": "fp32", "q": "fp8", "d": "fp64"}
# "bf16bf16_bf16f32_f32": the types of A and B, then of C and the accumulator.
_XMMA = re.compile(r"_(bf16|tf32|e4m3|e5m2|f16|f32|f64|i8)(?:bf16|tf32|e4m3|e5m2|f16|f32|f64|i8|i32)_")
_XMMA_TYPES = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "i8": "int8", "e4m3": "fp8", "e5m2": "fp8"}
_WORDS = re.compile(
    r"(?<![A-Za-z\d])(?:Mx|Qkv|MX)?"
    r"(bf16|tf32|fp16|f16|e4m3|e5m2|fp8|mxfp4|e2m1|Bfloat16|E4m3|E2m1|int8|f32|half)"
)
_WORD_TYPES = _XMMA_TYPES | {"mxfp4": "fp4", "e2m1": "fp4", "bfloat16": "bf16", "half": "fp16"}
_NCCL = re.compile(
    r"_(f32|f16|bf16|f64|i8|u8|i32|u32|i64|u64|f8e4m3|f8e5m2|float|half|__nv_bfloat16|hip_bfloat16|int8_t)\b",
    re.I,
)
_NCCL_LATE = re.compile(r"_(f32|f16|bf16|f64|i8|u8|i32|i64|f8e4m3|f8e5m2)_")
_NCCL_TYPES = _XMMA_TYPES | {"u8": "uint8", "i32": "int32", "i64": "int64", "float": "fp32", "half": "fp16"}
_NCCL_TYPES |= {
    "u32": "uint32",
    "u64": "uint64",
    "__nv_bfloat16": "bf16",
    "hip_bfloat16": "bf16",
    "int8_t": "int8",
}
_NCCL_TYPES |= {"f8e4m3": "fp8", "f8e5m2": "fp8", "bf16": "bf16"}
# BLAS letters: sgemm, hgemm, dgemm, cgemm, zgemm; scudnn, hcudnn. A number between is the shape of the
# matrix instruction.
_BLAS = re.compile(r"(?:^|_)(?:g?c)?([shdcz])(\d{3,5})?(?:gemm|cudnn|gemv|fprop|dgrad|wgrad)")
_BLAS_TYPES = {"s": "fp32", "h": "fp16", "d": "fp64", "c": "complex64", "z": "complex128"}
_CK_TYPES = re.compile(r"(?:I|[a-z\d]E?|_)(t{2,3}f|t{3})")
_INDEX_TYPES = frozenset({"int64", "int32", "bool"})


def dtype(name: KernelName, op_class: OpClass) -> str | None:
    """The operand type in a kernel's name, as PyTorch's short word; None if the name does not say."""
    readers: tuple[Callable[[KernelName], str | None], ...]
    if op_class == "collective":
        readers = (_collective,)
    elif op_class in MATRIX_CLASSES:
        readers = (_library, _template, _word)
    else:
        readers = (_template, _word)
    for reader in readers:
        found = reader(name)
        if found is not None and not (op_class in MATRIX_CLASSES and found in _INDEX_TYPES):
            return found
    return None


def _template(name: KernelName) -> str | None:
    arguments = name.args[:LOOKED_AT]
    if not _TEMPLATED.match(arguments):
        return None
    if arguments[0] == "I":
        return _mangled_template(name, arguments)
    if "OpaqueType" in arguments[:_OPAQUE]:
        return None
    found = _FLOAT.search(arguments)
    if found is None or _is_parameter(arguments, found.start()):
        # A functor's parameters (`std::optional<double>`) are not its type; the lambda it ends in says that.
        typed = _LAMBDA.search(name.args, 0, _LONGEST_FUNCTOR)
        if typed is not None:
            found = _FLOAT.search(typed.group(1)) or _INTEGER.search(typed.group(1)) or found
        elif found is None:
            found = _INTEGER.search(arguments, 0, _INTEGERS_WITHIN)
    return found.lastgroup if found is not None else None


def _mangled_template(name: KernelName, arguments: str) -> str | None:
    if found := _MANGLED_FLOAT.search(arguments):
        return found.lastgroup
    # Composable Kernel keeps bf16 in unsigned short, whose mangling is "t".
    return "bf16" if name.path.startswith("ck::") and _CK_TYPES.search(arguments) else None


def _is_parameter(arguments: str, at: int) -> bool:
    return arguments.startswith("<") and "TensorIterator" in arguments[:at]


def _library(name: KernelName) -> str | None:
    """The operand type as GEMM and convolution libraries encode it in kernel names."""
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
        # Parameters of a collective include buffers of other types than the payload.
        types = _FLOAT.search(name.args.split(">(", 1)[0]) if name.args.startswith("<") else None
        return types.lastgroup if types is not None else None
    word = found.group(1).lower()
    return _NCCL_TYPES.get(word, word)
