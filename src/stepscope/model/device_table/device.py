"""A row of the table of devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

GB = 10**9
GIB = 2**30
NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Device:
    """What a vendor states of one device, as a recorder sees it (one die, where dies are separate devices).

    All rates are peaks of dense arithmetic, without structured sparsity; what the vendor does not state is None or
    missing, but for rows that say that they are estimated.

    Attributes:
        name: The name reports use.
        vendor: `nvidia`, `amd`, `huawei`, `intel` or `meta`.
        pattern: Matches the names that recorders write for it.
        memory_bytes: Size of the device's own memory.
        memory_bandwidth: Bytes per second to and from that memory.
        units: Number of SMs, CUs, AI cores or tensor processor cores.
        vector: FLOP/s of the ordinary units by type (`fp64`, `fp32`, `fp16`, `bf16`).
        matrix: FLOP/s of the tensor cores by operand type; with fp32 accumulation where that differs.
        max_threads: Most resident threads per unit.
        warp_size: Threads per warp or wavefront.
        link_bandwidth: Bytes per second to other devices over the vendor's own links, both directions together.
        source: Where the figures stand: title and year of the vendor's document.
        estimated: Whether rates are computed from the number of cores and a clock that differs from laptop to laptop,
            or from the rate of another type.
    """

    name: str
    vendor: str
    pattern: re.Pattern[str]
    memory_bytes: int | None
    memory_bandwidth: int | None
    units: int | None
    vector: Mapping[str, int]
    matrix: Mapping[str, int]
    max_threads: int | None
    warp_size: int | None
    link_bandwidth: int | None
    source: str
    estimated: bool = False

    @property
    def label(self) -> str:
        """The name, and whether its rates are estimated."""
        return f"{self.name} (estimated)" if self.estimated else self.name

    def peak(self, dtype: str, *, tensor_core: bool | None = None) -> int | None:
        """Peak FLOP/s for operands of a type.

        Args:
            dtype: As in `stepscope.model.dtypes`.
            tensor_core: Whether the kernel uses tensor cores; None takes the higher of the two rates, so that a share
                of the peak is never overstated.

        Returns:
            The rate, or None if the vendor states none.
        """
        if tensor_core is True:
            return self.matrix.get(dtype)
        if tensor_core is False:
            return self.vector.get(dtype)
        known = [rate for rate in (self.matrix.get(dtype), self.vector.get(dtype)) if rate is not None]
        return max(known, default=None)


def tera(**rates: float) -> Mapping[str, int]:
    """Rates given in TFLOP/s as FLOP/s."""
    return MappingProxyType({dtype: round(rate * 1000) * 10**9 for dtype, rate in rates.items()})


def named(pattern: str) -> re.Pattern[str]:
    """A pattern for recorded names: letters in any case, any separator where the pattern has a space."""
    return re.compile(pattern.replace(" ", r"[ _-]?"), re.IGNORECASE)
