"""Shorten kernel names to fit a table column."""

from __future__ import annotations

import re
from functools import lru_cache

from stepscope.model.kernel_names import mangled
from stepscope.model.kernel_names.kinds import LOOKED_AT
from stepscope.model.kernel_names.parse import KernelName, parse

WIDTH = 72
# What PyTorch's generic kernels apply; the wrappers around it say nothing.
_FUNCTOR = re.compile(
    r"(?!(?:[AB]Unary|Binary|Unary)Functor)\b[A-Za-z]\w*Functor\w*|\b\w+(?:Ops|_functor)\b|\b\w+_kernel_cuda\b"
    r"|\b\w+_kernel_impl\b|\b\w+_kernel\b|\b\w+CUDAKernelImpl\b|\b\w+_cuda_out\b|\b\w+_cuda\b|\bReduceAdd\b"
    r"|\blaunch_\w+\b"
)
_WRAPPING = frozenset({"gpu_kernel_impl", "gpu_index_kernel", "gpu_kernel", "gpu_reduce_kernel", "elementwise_kernel"})
_ENDINGS = re.compile(
    r"(?:_kernel)?(?:_cuda|_impl|_out|_gpu)*$|CUDAKernelImpl$|(?<=[a-z\d])(?:Functor|Ops)$"
    r"|^CUDAFunctor(?:On\w+?)?_|_functor$"
)
_GENERIC = re.compile(r"elementwise|reduce_kernel|multi_tensor|scatter_gather|foreach|apply_kernel|Loops|ReduceKernel")
# An Ascend kernel's or collective's name and the running number at its end: "Cast186", "LpNormReduceV2158",
# "hcom_allReduce__586_3_1".
_NUMBERED = re.compile(r"(?:[A-Z]|trans_|hcom_)\w*$")
_COUNTER = re.compile(r"_+\d[\d_]*$|(?<=V\d)\d+$|(?<=[a-zD])\d+$")
# A lambda behind the parameters of the function it is written in, as nvcc and clang write it.
_LAMBDA = re.compile(r"\)(?: const)?::(?:\[lambda|\{lambda|'lambda)")
_LAST_WORD = re.compile(r"((?:[A-Z]\w*::)?[A-Za-z_]\w*)$")
_TENSILE = re.compile(r"(Cijk_[A-Za-z]+_[A-Za-z]+_[A-Z\d]+)_")
_TILE = re.compile(r"_(MT\d+x\d+x\d+)")


@lru_cache(maxsize=131_072)
def short_name(name: str) -> str:
    """`short` of a name as recorded: a tenth of the work of classifying it."""
    return short(parse(name))


def short(name: KernelName) -> str:
    """At most `WIDTH` characters: the outer name and, where that is generic, what it applies."""
    if tensile := _TENSILE.match(name.path):
        tile = _TILE.search(name.path, tensile.end() - 1)
        return _cut(f"{tensile.group(1)} {tile.group(1)}" if tile else tensile.group(1))
    if not name.cxx:
        return _cut(_plain_name(name.raw))
    functor = _functor(name) or _around_lambda(name.args)
    return _cut(f"{name.base}<{functor}>" if functor else _outer(name))


def _plain_name(raw: str) -> str:
    plain = raw[:LOOKED_AT].removeprefix("void ").removesuffix(".kd")
    return _COUNTER.sub("", plain) if _NUMBERED.match(plain) else plain


def _outer(name: KernelName) -> str:
    """The last part of the name, with the one before it where it says nothing alone (`gemvx::kernel`)."""
    if name.base.lower() in {
        "kernel",
        "kernel2",
        "forward",
        "backward",
        "fwd",
        "bwd",
        "dispatch",
        "combine",
        "main",
    }:
        return "::".join(name.path.split("::")[-2:])
    return name.base


def _functor(name: KernelName) -> str | None:
    if not _GENERIC.search(name.base):
        return None
    words = name.args[:LOOKED_AT]
    if name.args.startswith("I"):
        words = " ".join(mangled.identifiers(words))
    for found in _FUNCTOR.finditer(words):
        if found.group() not in _WRAPPING:
            return _plain(found.group())
    return None


def _around_lambda(args: str) -> str | None:
    """The function whose lambda a kernel runs: `PdV_kernel(int, ...)::[lambda(int) (instance 1)]`, or None.

    Libraries that run any loop on the device (Kokkos, RAJA, AMReX, Thrust, a program's own) have one kernel for all.
    """
    found = _LAMBDA.search(args)
    if found is None:
        return None
    end, depth = found.start(), 0
    for at in range(end, -1, -1):
        depth += (args[at] == ")") - (args[at] == "(")
        if args[at] == "(" and not depth:
            home = _LAST_WORD.search(args[:at])
            return _plain(home.group(1)) if home else None
    return None


def _plain(functor: str) -> str:
    plain = _ENDINGS.sub("", _ENDINGS.sub("", functor))
    return plain or functor


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
