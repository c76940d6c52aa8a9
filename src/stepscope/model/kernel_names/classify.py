"""Entry point: classify a kernel by its recorded name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from stepscope.model.kernel_names.families import (
    ascend,
    attention,
    collectives,
    convolution,
    copies,
    embedding,
    gemm,
    generic,
    pytorch,
    serving,
    triton,
)
from stepscope.model.kernel_names.kinds import KernelClass, OpClass
from stepscope.model.kernel_names.parse import KernelName, parse
from stepscope.model.kernel_names.precision import dtype
from stepscope.model.kernel_names.short import short
from stepscope.model.kernel_names.tensor_cores import tensor_core

Classifier = Callable[[KernelName], OpClass | None]

REGISTRY: tuple[Classifier, ...] = (
    copies.FAMILY.op_class,
    triton.op_class,
    collectives.FAMILY.op_class,
    ascend.op_class,
    attention.FAMILY.op_class,
    convolution.FAMILY.op_class,
    embedding.FAMILY.op_class,
    pytorch.op_class,
    gemm.FAMILY.op_class,
    serving.FAMILY.op_class,
    generic.FAMILY.op_class,
)
"""The families in the order in which they are asked; the first answer counts."""


@lru_cache(maxsize=65_536)
def classify(name: str) -> KernelClass:
    """Classify a device activity by its recorded name.

    Args:
        name: As recorded, demangled or not: a kernel, a copy, or an Ascend op type or kernel name.

    Returns:
        Its class; `other` if no family knows the name. Never fails.
    """
    parsed = parse(name)
    op_class = _op_class(parsed)
    operand = dtype(parsed, op_class)
    return KernelClass(
        op_class=op_class,
        collective=collectives.kind(parsed.path) if op_class == "collective" else None,
        tensor_core=tensor_core(parsed, op_class, operand),
        dtype=operand,
        short=short(parsed),
    )


def _op_class(name: KernelName) -> OpClass:
    for classifier in REGISTRY:
        if found := classifier(name):
            return found
    return "other"
