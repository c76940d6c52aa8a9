"""Operand type of a kernel, as far as its name states it."""

from __future__ import annotations

import re
from collections.abc import Callable

from stepscope.model.kernel_names.kinds import MATRIX_CLASSES, OpClass
from stepscope.model.kernel_names.parse import KernelName
from stepscope.model.kernel_names.template_types import FLOAT, template_type

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
_INDEX_TYPES = frozenset({"int64", "int32", "bool"})


def dtype(name: KernelName, op_class: OpClass) -> str | None:
    """The operand type in a kernel's name, as PyTorch's short word; None if the name does not say."""
    readers: tuple[Callable[[KernelName], str | None], ...]
    if op_class == "collective":
        readers = (_collective,)
    elif op_class in MATRIX_CLASSES:
        readers = (_library, template_type, _word)
    else:
        readers = (template_type, _word)
    for reader in readers:
        found = reader(name)
        if found is not None and not (op_class in MATRIX_CLASSES and found in _INDEX_TYPES):
            return found
    return None


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
        types = FLOAT.search(name.args.split(">(", 1)[0]) if name.args.startswith("<") else None
        return types.lastgroup if types is not None else None
    word = found.group(1).lower()
    return _NCCL_TYPES.get(word, word)
