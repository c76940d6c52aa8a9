"""Sizes of GEMMs: alignment of rows for tensor cores, and slowdown of unaligned ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.dtypes import itemsize
from stepscope.signals.shared.dimensions import Dimensions, dimensions
from stepscope.signals.shared.gemms import Gemms, gemms
from stepscope.signals.shared.job import device, step_share
from stepscope.signals.shared.operations import Ids
from stepscope.signals.shared.tensor_shapes import tensors
from stepscope.signals.signal import Signals, signal

#: Rows should begin at multiples of this many bytes (NVIDIA, "Matrix Multiplication Background User's Guide").
ROW_BYTES: Final = 16
#: GEMMs compare with others whose arithmetic differs by no more than this factor.
_COMPARABLE: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Unaligned:
    """n GEMMs of narrow types some of whose rows begin between multiples of `ROW_BYTES`.

    Attributes:
        event: int64[n], kernels.
        dur: int64[n].
        factor: float64[n], time they would take at the rate of comparable aligned ones, with padding; NaN if there are
            none.
        sizes: Dimensions of the one with the most time; None if there is none.
        of_step: Their time as a share of the recorded steps.
    """

    event: Ids
    dur: Ids
    factor: NDArray[np.float64]
    sizes: Dimensions | None
    of_step: float


@signal()
def unaligned(s: Signals) -> Unaligned:
    """GEMMs of narrow types with unaligned rows."""
    found = s(gemms)
    narrow = found.is_type("fp16", "bf16", "tf32", "fp8", "int8") & found.is_class("gemm") & (found.shape >= 0)
    odd = narrow & _odd(found)
    mine = np.flatnonzero(odd)
    dur = found.dur[mine]
    sizes = None
    if mine.size:
        total = np.bincount(found.shape[mine], dur)
        sizes = dimensions(found.shapes[int(total.argmax())][0])
    factor = _factors(s, found, mine, np.flatnonzero(narrow & ~odd))
    return Unaligned(found.event[mine], dur, factor, sizes, step_share(s, dur.sum()))


def _odd(found: Gemms) -> NDArray[np.bool_]:
    """Whether each GEMM has unaligned rows; each shape is evaluated once per type."""
    key = found.shape.astype(np.int64) * len(found.types) + found.dtype
    keys, which = np.unique(key, return_inverse=True)
    flags = []
    for one in keys.tolist():
        shape, dtype = divmod(one, len(found.types))
        shapes, strides = found.shapes[shape] if shape >= 0 else ("", "")
        width = 4 if found.types[dtype] == "tf32" else itemsize(found.types[dtype]) or 0
        flags.append(any(length * width % ROW_BYTES for length in rows(shapes, strides)) if width else False)
    return np.array(flags, np.bool_)[which]


@lru_cache(maxsize=65_536)
def rows(shapes: str, strides: str) -> tuple[int, ...]:
    """Row strides, in elements, of both operands and the result of a GEMM; empty if unknown."""
    dims = dimensions(shapes)
    if dims is None or min(dims.m, dims.n, dims.k) < 2:  # GEMMs with vectors have no rows
        return ()
    steps = _steps(strides)
    if steps and len(steps) == len(tensors(shapes)):
        matrices = [step for dims_, step in zip(tensors(shapes), steps, strict=True) if len(dims_) >= 2]
        leading = [max(step[-2:]) for step in matrices if min(step[-2:]) == 1]
        return (*leading, dims.n)
    return dims.k, dims.n


def _steps(strides: str) -> list[list[int]]:
    try:
        listed = json.loads(strides) if strides else []
    except (ValueError, RecursionError):
        return []
    if not isinstance(listed, list):
        return []
    return [item for item in listed if isinstance(item, list) and item and all(isinstance(n, int) for n in item)]


def _factors(s: Signals, found: Gemms, mine: Ids, others: Ids) -> NDArray[np.float64]:
    """Factor of each unaligned GEMM's time at the rate of comparable others, including the padding's arithmetic."""
    factors = np.full(mine.size, np.nan)
    done = efficiency(s)
    known = others[found.flops[others] > 0]
    for shape, dtype in {(int(found.shape[at]), int(found.dtype[at])) for at in mine.tolist()}:
        same = (found.shape[mine] == shape) & (found.dtype[mine] == dtype)
        flops = found.flops[mine[same][0]]
        near = (found.flops[known] >= flops / _COMPARABLE) & (found.flops[known] <= flops * _COMPARABLE)
        comparable = known[near & (found.dtype[known] == dtype)]
        dims = dimensions(found.shapes[shape][0])
        if flops > 0 and comparable.size and dims is not None:
            padded = _padded(dims.n) * _padded(dims.k) / (dims.n * dims.k)
            factors[same] = np.median(done[mine[same]]) / np.median(done[comparable]) * padded
    return factors


def efficiency(s: Signals) -> NDArray[np.float64]:
    """Least time over time of each GEMM where the device's peaks are known; else FLOPs over time."""
    return np.maximum(*_least(s)) / np.maximum(s(gemms).whole, 1)


def bound_by_compute(s: Signals) -> NDArray[np.bool_]:
    """Whether the arithmetic of each GEMM takes longer than its memory traffic; False if one is unknown."""
    compute, memory = _least(s)
    bound: NDArray[np.bool_] = (compute > memory) & (s(gemms).bytes >= 0) & (s.maybe(device) is not None)
    return bound


def _least(s: Signals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least times of arithmetic and of memory traffic, in s; FLOPs and 0 if the device is unknown."""
    found, known = s(gemms), s.maybe(device)
    rate, bandwidth = np.ones(len(found.types)), float("inf")
    if known is not None:
        rate = np.array([known.peak(name) or 1.0 for name in found.types], np.float64)
        bandwidth = known.memory_bandwidth or bandwidth
    return found.flops / rate[found.dtype], np.maximum(found.bytes, 0) / bandwidth


def _padded(size: int) -> int:
    return -(-size // 8) * 8
