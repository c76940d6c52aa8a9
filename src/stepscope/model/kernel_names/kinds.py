"""The closed set of kernel classes, and the result of classifying a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

OpClass = Literal[
    "gemm",
    "attention",
    "convolution",
    "normalisation",
    "elementwise",
    "reduction",
    "embedding",
    "optimizer",
    "collective",
    "copy",
    "other",
]

OP_CLASSES: tuple[OpClass, ...] = get_args(OpClass)
"""Every class, in the order in which reports list them.

What a class holds beyond its plain meaning:

* `gemm`: matrix-vector multiplications and dot products, split-K sums and epilogues of a GEMM library, expert (grouped)
  GEMMs, Ascend kernels that fuse a GEMM with a collective.
* `attention`: also state-space and linear attention kernels.
* `convolution`: also the transforms a convolution library runs for its own sake (Winograd tiles, FFT,
  im2col).
* `reduction`: also scans, sorts, top-k, softmax, losses and pooling: outputs that depend on many inputs.
* `embedding`: table lookups and their gradients, gather, scatter and indexing.
* `optimizer`: parameter updates, also the `_foreach_*` kernels that unfused optimizers are made of.
* `copy`: memcpy, memset, concatenation, transposes and layout changes, writes to a key/value cache. A
  PyTorch elementwise kernel that copies or casts stays `elementwise`, as its outer name says.
"""


@dataclass(frozen=True, slots=True)
class KernelClass:
    """Properties of a kernel that its name reveals.

    Attributes:
        op_class: One of `OP_CLASSES`.
        collective: Which collective, such as `all_reduce`; None if it is none or the name does not say which.
        tensor_core: Whether the kernel runs on tensor cores (AMD's matrix cores, Ascend's cube units); None if the
            name does not say.
        dtype: Type of the operands (`bf16`, `fp16`, `tf32`, `fp32`, `fp64`, `fp8`, `fp4`, `int8`, ...); None
            if the name does not say.
        short: A name short enough for a table's column.
    """

    op_class: OpClass
    collective: str | None
    tensor_core: bool | None
    dtype: str | None
    short: str


#: Classes whose kernels can use tensor cores.
MATRIX_CLASSES: Final[frozenset[OpClass]] = frozenset({"gemm", "attention", "convolution"})
LOOKED_AT: Final = 600
