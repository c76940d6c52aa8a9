"""Data types as recorders spell them, and the bytes of one element."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType

_SPELLINGS: dict[str, tuple[str, ...]] = {
    "fp64": ("double", "float64", "f64", "dt_double"),
    "fp32": ("float", "float32", "f32", "single", "dt_float"),
    "tf32": ("tfloat32", "hf32"),
    "fp16": ("half", "float16", "f16", "dt_float16", "__half", "_float16"),
    "bf16": ("bfloat16", "dt_bf16", "__nv_bfloat16", "__hip_bfloat16", "hip_bfloat16", "bfp16"),
    "fp8": (
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float8"),
        *("e4m3", "e5m2", "f8e4m3", "f8e5m2", "hifloat8", "dt_float8_e4m3fn", "dt_float8_e5m2"),
    ),
    "fp4": ("float4_e2m1fn_x2", "e2m1", "mxfp4", "nvfp4"),
    "int64": ("long", "long int", "long long", "i64", "int64_t", "dt_int64"),
    "int32": ("int", "i32", "int32_t", "dt_int32"),
    "int16": ("short", "short int", "i16", "dt_int16"),
    "int8": ("signed char", "char", "i8", "qint8", "dt_int8"),
    "uint64": ("unsigned long", "unsigned long int", "u64", "dt_uint64"),
    "uint32": ("unsigned int", "u32", "dt_uint32"),
    "uint16": ("unsigned short", "u16", "dt_uint16"),
    "uint8": ("unsigned char", "byte", "u8", "quint8", "dt_uint8"),
    "bool": ("boolean", "dt_bool"),
    "complex64": ("complex<float>", "c10::complex<float>", "dt_complex64"),
    "complex128": ("complex<double>", "c10::complex<double>", "dt_complex128"),
}
_NAMES = MappingProxyType({s: name for name, all_ in _SPELLINGS.items() for s in (name, *all_)})
_SIZES = MappingProxyType(
    {
        **dict.fromkeys(("fp64", "int64", "uint64", "complex64"), 8),
        **dict.fromkeys(("fp32", "tf32", "int32", "uint32"), 4),
        **dict.fromkeys(("fp16", "bf16", "int16", "uint16"), 2),
        # Two fp4 values share a byte; recorders count the bytes of such a tensor, not the values.
        **dict.fromkeys(("fp8", "fp4", "int8", "uint8", "bool"), 1),
        "complex128": 16,
    }
)
_PREFIXES = ("c10::", "torch.", "at::", "cutlass::", "std::")


@lru_cache(maxsize=1024)
def canonical(name: str | None) -> str | None:
    """The short name of a recorded type: `bf16` for `c10::BFloat16`; None for what is no element type."""
    if not name:
        return None
    plain = name.strip().lower()
    if plain in _NAMES:
        return _NAMES[plain]
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return _NAMES.get(plain) or _NAMES.get(plain.removesuffix("_t"))


def itemsize(name: str | None) -> int | None:
    """Bytes of one element of a recorded type; None for what is no element type (`Scalar`, an empty string)."""
    known = canonical(name)
    return None if known is None else _SIZES[known]
