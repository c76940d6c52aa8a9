"""GEMMs in fp32 that tensor cores could do in a narrower type, and their time there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.peaks import MATRIX_CLASSES
from stepscope.model.devices import Device
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared.gemms import Gemms, gemms
from stepscope.signals.shared.job import device, step_share
from stepscope.signals.shared.operations import Ids
from stepscope.signals.shared.step_columns import longest
from stepscope.signals.signal import Signals, signal

#: A GEMM whose size is not known is taken to become this much shorter, less if the peaks allow less: NVIDIA's guide
#: to mixed precision promises up to three times for models with the most arithmetic.
_UNKNOWN: Final = 1 / 3
#: Every vendor's units take operands that are rounded from fp32 (TF32, HF32) at half the rate of 16 bits.
_ROUNDED: Final = 1 / 2
#: Generations of NVIDIA's devices that have tensor cores, by names of library kernels that are made for them or for
#: later ones; the type; and what remains of a GEMM in fp32. GeForce cards since Ampere multiply 16 bits at twice the
#: rate of fp32 and no more (GA102 whitepaper), so that no more is promised of a card that is not known.
_GENERATIONS: Final = (
    (re.compile(r"(?:^|_)(?:ampere|hopper|sm[89]\d|sm1\d\d)_|cutlass_(?:[89]\d|1\d\d)_"), "bf16", 1 / 2),
    (re.compile(r"^(?:volta|turing)_|(?:^|_)sm7\d_|cutlass_7\d_"), "fp16", _UNKNOWN),
)
#: No GEMM is assumed to come closer to its least time than this: the best of the shared recordings of large GEMMs
#: on A100, H100 and MI300 come to about 0.8.
_REACHED: Final = 0.8
#: Classes with less of the time are not named.
_CLASS: Final = 0.1
#: In a convolutional network, pointwise operations and batch normalisation take the type of the convolution before
#: them. In a transformer, layer normalisation and the residuals stay in fp32 under automatic mixed precision.
_FOLLOWERS_SQL: Final = """
SELECT event, dur FROM activities
WHERE kind = 'compute' AND op_class IN ('elementwise', 'normalisation') AND dtype = 'fp32' ORDER BY event
"""


@dataclass(frozen=True, slots=True, eq=False)
class Narrower:
    """n kernels that could run in a narrower type.

    Attributes:
        dtype: The narrower type; empty if the device has none on its tensor cores.
        event: int64[n].
        dur: int64[n].
        factor: float64[n], by how much each would take less.
        rounded: Whether some of them round their operands from fp32 (TF32, HF32).
        followers: int64[m], other kernels that would move half the bytes then.
        followers_ns: Their time.
        classes: Classes of these n kernels with a tenth of their time or more, the one with most time first.
        of_eligible: Their time as a share of all GEMMs, attention and convolutions.
        of_step: Their time as a share of the recorded steps.
    """

    dtype: str
    event: Ids
    dur: Ids
    factor: NDArray[np.float64]
    rounded: bool
    followers: Ids
    of_eligible: float
    of_step: float
    followers_ns: int = 0
    classes: tuple[str, ...] = ("gemm",)

    @property
    def longest(self) -> Ids:
        """Events of the longest ones."""
        return longest(self.event, self.dur)


@signal()
def in_sixteen_bits(s: Signals) -> Narrower:
    """GEMMs in fp32, or rounded from it, that tensor cores do much faster in 16 bits."""
    known, found = s.maybe(device), s(gemms)
    if known is None or not known.matrix:
        return _of_tensor_cores(s, found)
    dtype = next((name for name in ("bf16", "fp16") if name in known.matrix), "")
    # Some vendors' tensor cores take fp32 too, at a fraction of the rate; NVIDIA's take it as TF32. Attention kernels
    # for fp32 are others than those for 16 bits, whatever units they use.
    wide = found.is_type("fp32") & ((found.tensor_core == 0) | (known.vendor != "nvidia") | found.is_class("attention"))
    wide |= _by_default(found) & ("tf32" in known.matrix)
    return _with_followers(s, found, _narrower(s, known, found, wide, (dtype, 0.5)))


def _of_tensor_cores(s: Signals, found: Gemms) -> Narrower:
    """Whether GEMMs run on tensor cores, for devices of unknown rates, which then do 16 bits faster than fp32.

    Where GEMMs run on other units, other kernels' names may show that the device has tensor cores.
    """
    dtype, untold = next(
        (
            (dtype, factor)
            for pattern, dtype, factor in _GENERATIONS
            if any(pattern.search(name) for name in found.names)
        ),
        ("fp16", _UNKNOWN),
    )
    generation = any(pattern.search(name) for pattern, _, _ in _GENERATIONS for name in found.names)
    wide = (found.is_type("fp32") | _by_default(found)) & (found.tensor_core >= (0 if generation else 1))
    if not wide.any():
        _known(s)
    factor = np.where(found.is_type("tf32"), _ROUNDED, np.where(found.tensor_core == 0, untold, _UNKNOWN))
    return _with_followers(s, found, _chosen(s, found, wide, dtype, lambda mine: factor[mine]))


def _by_default(found: Gemms) -> NDArray[np.bool_]:
    """Convolutions with rounded operands: PyTorch's default, so that nobody chose it."""
    return found.is_type("tf32") & found.is_class("convolution")


def _with_followers(s: Signals, found: Gemms, narrower: Narrower) -> Narrower:
    wide = np.isin(found.event, narrower.event)
    if 2 * int(found.dur[wide & found.is_class("convolution")].sum()) > int(narrower.dur.sum()) > 0:
        others = s.trace.columns(_FOLLOWERS_SQL)
        return replace(narrower, followers=others["event"], followers_ns=int(others["dur"].sum()))
    return narrower


@signal()
def in_tf32(s: Signals) -> Narrower:
    """GEMMs in fp32 on ordinary units that tensor cores could do as TF32."""
    known, found = _known(s), s(gemms)
    wide = found.is_type("fp32") & (found.tensor_core == 0)
    convolutions = found.is_class("convolution")
    if (convolutions & found.is_type("tf32")).any():  # where it is on, the library prefers other algorithms for some
        wide &= ~convolutions
    return _narrower(s, known, found, wide, ("tf32" if "tf32" in known.matrix else "", 1.0))


def _known(s: Signals) -> Device:
    known = s(device)
    if known is None:
        raise MissingInputError(
            "the device's peak rates are not known", hint="compare with the rates that the vendor states"
        )
    return known


def _narrower(
    s: Signals, known: Device, found: Gemms, wide: NDArray[np.bool_], to: tuple[str, float]
) -> Narrower:  # fmt: skip
    """GEMMs in a given type, with the width that each element then has."""
    dtype, width = to
    after = known.matrix.get(dtype)
    if after is None:
        wide = np.zeros_like(wide)
    return _chosen(s, found, wide, dtype, lambda mine: _factors(known, found, mine, (after or 1, width)))


def _chosen(
    s: Signals, found: Gemms, wide: NDArray[np.bool_], dtype: str, factors: Callable[[Ids], NDArray[np.float64]]
) -> Narrower:  # fmt: skip
    mine = np.flatnonzero(wide)
    dur = found.dur[mine]
    total = int(found.dur.sum())
    return Narrower(
        dtype,
        found.event[mine],
        dur,
        factors(mine),
        bool(found.is_type("tf32")[mine].any()),
        np.zeros(0, np.int64),
        float(dur.sum()) / total if total else 0.0,
        step_share(s, dur.sum()),
        classes=_classes(found, mine),
    )


def _classes(found: Gemms, mine: Ids) -> tuple[str, ...]:
    total = int(found.dur[mine].sum())
    times = {name: int(found.dur[mine][found.is_class(name)[mine]].sum()) for name in MATRIX_CLASSES}
    shown = [name for name in times if times[name] >= _CLASS * total and times[name]]
    return tuple(sorted(shown, key=lambda name: -times[name])) or ("gemm",)


def _factors(known: Device, found: Gemms, mine: Ids, after: tuple[int, float]) -> NDArray[np.float64]:
    """Least time with the new rate and width over that with the old ones."""
    rate, width = after
    ordinary, units = (rates.get("fp32", float("nan")) for rates in (known.vector, known.matrix))
    before = np.where((found.tensor_core[mine] == 0) | np.isnan(units), ordinary, units)
    before = np.where(found.is_type("tf32")[mine], known.matrix.get("tf32", float("nan")), before)
    flops, moved = found.flops[mine], np.maximum(found.bytes[mine], 0)
    bandwidth = known.memory_bandwidth or float("inf")
    old = np.maximum(flops / before, moved / bandwidth)
    new = np.maximum(flops / rate, width * moved / bandwidth)
    told = (flops > 0) & (old > 0)  # neither holds for NaN
    factors: NDArray[np.float64] = np.where(told, new / np.where(told, old, 1.0), np.fmax(before / rate, _UNKNOWN))
    reached = np.where(told, 1e9 * new / (_REACHED * np.maximum(found.whole[mine], 1)), 0.0)
    return np.clip(factors, reached, 1.0)
