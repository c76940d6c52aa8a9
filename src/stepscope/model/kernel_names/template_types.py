"""Operand type of a kernel in its template arguments, demangled or mangled."""

from __future__ import annotations

import re

from stepscope.model.kernel_names.kinds import LOOKED_AT
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


FLOAT = re.compile(rf"\b(?:{_any_of(_FLOATS)})(?!\w)")
_MANGLED_FLOAT = re.compile(_any_of(_MANGLED_FLOATS))
_INTEGER = re.compile(_any_of(_INTEGERS))
_TEMPLATED = re.compile(r"<|\(|I[A-Zf\d]")
_OPAQUE = 200
_LONGEST_FUNCTOR = 1_200
_INTEGERS_WITHIN = 250
# The parameters of a functor's lambda, as demangled ("{lambda(float)#1}") or by nsys ("[lambda(float)
# (instance 1)]"); a lone int is the index that every elementwise launch passes.
_LAMBDA = re.compile(r"[{\[]lambda\((?!int\)|\))([^()]*)\)")
_CK_TYPES = re.compile(r"(?:I|[a-z\d]E?|_)(t{2,3}f|t{3})")


def template_type(name: KernelName) -> str | None:
    """The operand type in template arguments, as PyTorch's short word; None if they do not say."""
    arguments = name.args[:LOOKED_AT]
    if not _TEMPLATED.match(arguments):
        return None
    if arguments[0] == "I":
        return _mangled_type(name, arguments)
    if "OpaqueType" in arguments[:_OPAQUE]:
        return None
    found = FLOAT.search(arguments)
    if found is None or _is_parameter(arguments, found.start()):
        # A functor's parameters (`std::optional<double>`) are not its type; the lambda it ends in says that.
        typed = _LAMBDA.search(name.args, 0, _LONGEST_FUNCTOR)
        if typed is not None:
            found = FLOAT.search(typed.group(1)) or _INTEGER.search(typed.group(1)) or found
        elif found is None:
            found = _INTEGER.search(arguments, 0, _INTEGERS_WITHIN)
    return found.lastgroup if found is not None else None


def _mangled_type(name: KernelName, arguments: str) -> str | None:
    if found := _MANGLED_FLOAT.search(arguments):
        return found.lastgroup
    # Composable Kernel keeps bf16 in unsigned short, whose mangling is "t".
    return "bf16" if name.path.startswith("ck::") and _CK_TYPES.search(arguments) else None


def _is_parameter(arguments: str, at: int) -> bool:
    return arguments.startswith("<") and "TensorIterator" in arguments[:at]
