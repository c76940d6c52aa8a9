"""GEMMs that run at a lower rate than others of similar size in the same recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.model.kernel_names import classify
from stepscope.signals.kernels.dominance import compute
from stepscope.signals.kernels.kernel_times import Alike
from stepscope.signals.shared.dimensions import Dimensions, dimensions
from stepscope.signals.shared.job import device
from stepscope.signals.signal import Signals, signal

#: From this size on in every direction a GEMM is bound by its arithmetic on every device of the table.
_LARGE: Final = 512
#: GEMMs compare with others whose arithmetic differs by no more than this factor.
_COMPARABLE: Final = 8
#: What runs faster than the device allows did not do what its recorded shapes say, and is nothing to compare with.
_POSSIBLE: Final = 1.1


@dataclass(frozen=True, slots=True, eq=False)
class Slower:
    """A large GEMM, and others of similar size.

    Attributes:
        kernel: All launches of it.
        sizes: What it multiplies.
        rate: Its FLOP/s.
        like: FLOP/s of the others, by all of their time; of those that fill more of the device only in proportion.
        others: How many others there are, by kernel and size.
    """

    kernel: Alike
    sizes: Dimensions
    rate: float
    like: float
    others: int

    @property
    def factor(self) -> float:
        """Factor of its time at the rate of the others; at most 1."""
        return min(self.rate / self.like, 1.0)

    @property
    def saved(self) -> float:
        """Time that this would save as a share of the steps."""
        return self.kernel.share * (1 - self.factor)


@signal()
def uneven(s: Signals) -> tuple[Slower, ...]:
    """Large GEMMs of known size, by the time that the rate of similar ones would save."""
    known = [
        (one, sizes, classify(one.name).dtype)
        for one in s(compute).kernels
        if one.role == "gemm" and one.rate and (sizes := dimensions(one.shapes)) is not None
        and min(sizes.m, sizes.n, sizes.k) >= _LARGE
    ]  # fmt: skip
    found, chip = [], s.maybe(device)
    units = (chip.units if chip is not None else None) or 0
    for one, sizes, dtype in known:
        like = [
            (other, theirs)
            for other, theirs, type_ in known
            if type_ == dtype and theirs != sizes
            and 1 / _COMPARABLE <= theirs.flops / sizes.flops <= _COMPARABLE
            and (other.efficiency or 0.0) <= _POSSIBLE
        ]  # fmt: skip
        if dtype is not None and like and one.rate:
            rates = [(other.rate or 0.0) * min(_filled(sizes, units) / _filled(theirs, units), 1.0)
                     for other, theirs in like]  # fmt: skip
            rate = float(np.average(rates, weights=[other.total_ns for other, _ in like]))
            found.append(Slower(one, sizes, one.rate, rate, len(like)))
    return tuple(sorted(found, key=lambda slower: (-slower.saved, slower.kernel.name)))


def _filled(sizes: Dimensions, units: int) -> float:
    """Share of the device's SMs or CUs for which a GEMM has blocks; 1 if their number is unknown."""
    return min(sizes.tiles / units, 1.0) if units else 1.0
