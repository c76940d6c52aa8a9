"""Attention written out as GEMMs and a softmax, and the time of one fused operator for it."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.devices import Device
from stepscope.signals.kernels.fusions import Fusion, fusion, scaled
from stepscope.signals.shared.dimensions import Dimensions, dimensions
from stepscope.signals.shared.gemms import gemms
from stepscope.signals.shared.job import device
from stepscope.signals.shared.operations import Operations, operations
from stepscope.signals.shared.patterns import Ranges, members, sequences
from stepscope.signals.signal import Signals, signal

#: Part of the peak that fused attention comes to: 50 % to 73 % on A100 (Dao, "FlashAttention-2", 2023).
_REACHED: Final = 0.5
#: The backward does five GEMMs instead of two (the same).
_BACKWARD: Final = 2.5


@signal()
def unfused(s: Signals) -> Fusion:
    """Attention written out as separate operations, forward and backward."""
    found = s(sequences)
    w, forward, backward = s(operations), found["attention"], found["attention_backward"]
    known = {float(w.size[a]) for a in forward.anchor.tolist()}
    backward = backward.where(np.array([float(w.size[a]) in known for a in backward.anchor.tolist()], np.bool_))
    both = Ranges(*(np.append(a, b) for a, b in zip(_parts(forward), _parts(backward), strict=True)))
    before = _sum(w, both)
    after = np.append(_forward_ns(s, w, forward), _backward_ns(s, w, forward, backward))
    after = np.minimum(after, before)
    factors = np.where(before > 0, after / np.maximum(before, 1), 1.0)
    return fusion(s, both, scaled(s, both, factors), int(after.sum()))


def _parts(ranges: Ranges) -> tuple[NDArray[np.int64], ...]:
    return ranges.first, ranges.last, ranges.anchor


def _sum(w: Operations, ranges: Ranges, letters: str = "") -> NDArray[np.int64]:
    """Time of each sequence, or of its operations that have one of some roles."""
    units, of = members(ranges)
    if letters:
        mine = np.array([w.letters[unit] in letters for unit in units.tolist()], np.bool_)
        units, of = units[mine], of[mine]
    total = np.zeros(ranges.first.size, np.int64)
    np.add.at(total, of, w.dur[units])
    return total


def _forward_ns(s: Signals, w: Operations, found: Ranges) -> NDArray[np.float64]:
    """Time of fused attention; of the two GEMMs alone where sizes or device are unknown."""
    alone = _sum(w, found, "P").astype(np.float64)
    known = s.maybe(device)
    if known is None or not found.first.size:
        return alone
    types = s(gemms).type_of(w.op[found.first])
    modelled = [
        _modelled_ns(known, dtype, *(dimensions(w.shapes[code]) if code >= 0 else None for code in codes))
        for dtype, *codes in zip(types, w.shape[found.first].tolist(), w.shape[found.last].tolist(), strict=True)
    ]
    return np.array([p if m is None else m for p, m in zip(alone.tolist(), modelled, strict=True)], np.float64)


def _backward_ns(s: Signals, w: Operations, forward: Ranges, backward: Ranges) -> NDArray[np.float64]:
    """Time of fused backward attention: a multiple of the forward with as many scores, as it has more GEMMs."""
    if s.maybe(device) is None:
        return _sum(w, backward, "P").astype(np.float64)
    of_size = {float(w.size[a]): t for a, t in zip(forward.anchor.tolist(), _forward_ns(s, w, forward), strict=True)}
    return np.array([_BACKWARD * of_size[float(w.size[a])] for a in backward.anchor.tolist()], np.float64)


def _modelled_ns(
    known: Device, dtype: str, scores: Dimensions | None, result: Dimensions | None
) -> float | None:  # fmt: skip
    """The larger of the time of arithmetic at the reachable share of the peak, and of one pass over all data."""
    peak = known.peak(dtype) if dtype else None
    if scores is None or result is None or not peak:
        return None
    elements = scores.batch * (scores.m * scores.k + scores.k * scores.n + result.k * result.n + result.m * result.n)
    width = 2 if dtype in ("fp16", "bf16") else 4
    moved = width * elements / known.memory_bandwidth if known.memory_bandwidth else 0.0
    return 1e9 * max((scores.flops + result.flops) / (_REACHED * peak), moved)
