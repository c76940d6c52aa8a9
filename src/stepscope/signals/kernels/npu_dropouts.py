"""Dropout for which torch_npu has one operator: written out, and after a softmax of biased scores."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.signals.kernels.fusions import Fusion
from stepscope.signals.kernels.npu_fusions import named_at, sequences_of
from stepscope.signals.shared.operations import Operations
from stepscope.signals.shared.patterns import Ranges
from stepscope.signals.shared.tensor_shapes import tensors
from stepscope.signals.signal import Signals, signal

#: Random numbers, of which a mask is made; what is kept is multiplied by it and scaled, in either order.
_DROPPED: Final = r"(?P<x>[#D])(?:w?c?[md]c?[md]|wc?wc?[md])"
_RANDOM: Final = re.compile(r"uniform|bernoulli", re.IGNORECASE)
_MASK: Final = re.compile(r"bernoulli", re.IGNORECASE)
#: A bias that is added to scores, their softmax, and dropout of what it gives.
_DROPPED_SOFTMAX: Final = r"(?P<f>a)c?(?P<x>S)c?D"
#: Rows and columns that the operator for that takes, and what the number of its matrices must be a multiple of.
_SIDES: Final = frozenset((128, 256, 384, 512))
_MATRICES: Final = 32


@signal()
def dropouts(s: Signals) -> Fusion:
    """Dropout written out: random numbers, a mask of them, a multiplication and a scale."""
    return sequences_of(s, _DROPPED, lambda s, w, r: _are_masks(s, w, r) & w.alike(r.first, r.last))


@signal()
def dropped_softmaxes(s: Signals) -> Fusion:
    """Scores to which a bias is added, their softmax and dropout, of a shape that one operator takes."""
    return sequences_of(s, _DROPPED_SOFTMAX, lambda _, w, r: _fit_dropped_softmax(w, r))


def _are_masks(s: Signals, w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Whether sequences begin with random numbers that become a mask: by a comparison, or drawn as one."""
    compared = np.array([w.letters[first + 1] == "w" for first in found.first.tolist()], np.bool_)
    return named_at(s, w, found.first, _RANDOM) & (compared | named_at(s, w, found.first, _MASK))


def _fit_dropped_softmax(w: Operations, found: Ranges) -> NDArray[np.bool_]:
    """Whether what is added is as large as the scores, and these are of the recorded shapes that the operator takes."""
    added = [_added_shape(w.shapes[one]) if one >= 0 else () for one in w.shape[found.first].tolist()]
    return np.array([_takes(shape) for shape in added], np.bool_) & w.alike(found.first, found.anchor)


@lru_cache(maxsize=65_536)
def _added_shape(text: str) -> tuple[int, ...]:
    """The shape of two operands that are equally large; empty if they are not."""
    shapes = [tuple(one) for one in tensors(text) if len(one)]
    return shapes[0] if len(shapes) >= 2 and shapes[0] == shapes[1] else ()


def _takes(shape: tuple[int, ...]) -> bool:
    """Whether `npu_dropout_with_add_softmax` takes scores of this shape, by its documentation."""
    return len(shape) == 4 and _SIDES.issuperset(shape[2:]) and shape[0] * shape[1] % _MATRICES == 0
