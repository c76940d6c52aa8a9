"""Kernels written by TorchInductor: `triton_<kind>_fused_<ops>_<n>`.

The kind is Inductor's own: `poi` pointwise, `red` and `per` reductions (looped, persistent), `tem` a
template, `for` a horizontally fused list; the ops are those of the graph that were fused.
"""

from __future__ import annotations

import re

from stepscope.model.kernel_names.kinds import OpClass
from stepscope.model.kernel_names.parse import KernelName

_NAME = re.compile(
    r"^(?:cpp_fused_|triton_(poi|red|per|tem|for|spl|sp|unk|mm|bmm|addmm|baddbmm|convolution|conv|mix)_?)(.*)"
)
_ATTENTION = re.compile(r"attention|sdpa")
_GEMM = re.compile(r"(?:^|_)(?:mm|bmm|addmm|baddbmm|scaled_mm|matmul|linear|grouped_mm)(?:_|$)")
_NORM = re.compile(r"(?:layer|batch|group|instance|rms)_?norm")
_ROOT_MEAN = re.compile(r"(?:mean|var|var_mean|sum|norm).*rsqrt|rsqrt.*mean")
_SOFTMAX = re.compile(r"softmax")
_OPTIMIZER = re.compile(r"(?:^|_)(?:adam|adamw|sgd|adagrad|lamb)(?:_|$)|foreach")
_LOOKUP = re.compile(r"(?:^|_)(?:embedding|index_put|index_select|scatter_add|embedding_bag)")


def op_class(name: KernelName) -> OpClass | None:
    """The class of a kernel that Inductor wrote, or None for any other name."""
    found = _NAME.match(name.path)
    if found is None:
        return None
    kind, ops = found.group(1) or "poi", found.group(2)
    if kind in {"mm", "bmm", "addmm", "baddbmm"}:
        return "gemm"
    if kind in {"convolution", "conv"}:
        return "convolution"
    if kind == "tem":
        return _template(ops)
    return _fused(kind, ops)


def _template(ops: str) -> OpClass:
    if _ATTENTION.search(ops):
        return "attention"
    if "convolution" in ops and not _GEMM.search(ops):
        return "convolution"
    return "gemm"


def _fused(kind: str, ops: str) -> OpClass:
    """The class of a fused kernel: its heaviest operation that is not pointwise."""
    reduces = kind in {"red", "per", "spl", "sp", "mix"}
    if _NORM.search(ops) or (reduces and _ROOT_MEAN.search(ops) and not _SOFTMAX.search(ops)):
        return "normalisation"
    if kind == "for" or _OPTIMIZER.search(ops):
        return "optimizer"
    if _LOOKUP.search(ops):
        return "embedding"
    return "reduction" if reduces else "elementwise"
