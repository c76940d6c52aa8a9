"""The links that connect the ranks, and the bus bandwidth of collectives over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.job_size import job_size
from stepscope.language import said
from stepscope.model.bus import bus_factor
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication.communication import CollectiveCalls, calls
from stepscope.signals.shared.job import device
from stepscope.signals.signal import Signals, signal

#: Below this size the latency of a collective counts for more than the speed of its link: 20 µs at 200 GB/s are 4 MB.
LARGE: Final = 4 << 20

#: Collectives of sizes that differ by this factor show what they take besides moving their bytes.
_APART: Final = 2

#: Of the rate that a vendor states for its links, both directions together, a large collective usually gets 70 % of
#: one direction (nccl-tests on DGX A100: 230 of 300 GB/s; on H100: 360 of 450).
_USUAL_SHARE: Final = 0.35
#: A fifth of that: what goes over PCI Express or the network instead does not come to more.
_LEAST_SHARE: Final = 0.07
_GB: Final = 1e9
#: Usual rate of a transfer over the link between two NPUs (msprof-analyze); each has one to each other of its server.
_HCCS: Final = 18 * _GB
_MESH_SQL: Final = """
SELECT count(DISTINCT dst) FROM comm_tasks WHERE link = 'HCCS' AND NOT EXISTS (
    FROM comm_tasks WHERE link NOT IN ('HCCS', 'ON_CHIP'))
"""
#: Vendors of devices that have PCI Express where they have no links of their own.
_PCIE: Final = ("nvidia", "amd")


@dataclass(frozen=True, slots=True)
class Link:
    """The links between ranks, as far as the recordings show.

    Attributes:
        name: What it is.
        usual: Bus bandwidth that a large collective usually gets on such a link, bytes/s.
        least: Bus bandwidth below which a link of the devices' own must be out of use, bytes/s; 0 where it is not
            known that they have one to each other.
    """

    name: str
    usual: float
    least: float


@dataclass(frozen=True, slots=True)
class Bandwidths:
    """Large collectives whose size and number of ranks are known.

    Attributes:
        calls: Which.
        factor: float64[n], bytes on each link per byte of the collective's size.
        bandwidth: float64[n], bus bandwidth of the transfer without its fixed part, bytes/s.
        fixed_ns: What each takes besides moving its bytes; 0 where too few sizes are recorded to tell.
        smaller: Collectives of known size in the same groups that are not large; None where it is not known what they
            take besides moving their bytes.
        smaller_factor: float64[m], as `factor`.
    """

    calls: CollectiveCalls
    factor: NDArray[np.float64]
    bandwidth: NDArray[np.float64]
    fixed_ns: int = 0
    smaller: CollectiveCalls | None = None
    smaller_factor: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


@signal()
def one_host(s: Signals) -> bool | None:
    """Whether all ranks of the job run on one host; null if the recordings at hand do not show it."""
    size = s.trace.job.once(job_size)
    if not size.unnamed and size.hosts > 1:
        return False
    if size.ranks < max(size.world_size, 2):
        return None
    if not size.unnamed:
        return True
    # Ranks of one host use devices of different numbers, unless each is shown its own device only.
    return True if size.numbers == size.used >= size.ranks else None


@signal()
def link(s: Signals) -> Link:
    """The links between ranks: the devices' own links, PCI Express, or the network."""
    known = s(device)
    meshed = s.trace.scalar(_MESH_SQL)
    if meshed:
        return Link(said("{meshed} HCCS links", meshed=meshed), meshed * _HCCS, meshed * _HCCS / 2)
    local = s(one_host)
    if local is not True:
        return Link(
            said("the network between hosts") if local is False else said("a link of unknown kind"), 20 * _GB, 0.0
        )
    if known is not None and known.link_bandwidth:
        own = known.link_bandwidth
        return Link(said("the links of the {name}", name=known.name), _USUAL_SHARE * own, _LEAST_SHARE * own)
    return Link("PCI Express" if known is not None and known.vendor in _PCIE else said("a link"), 20 * _GB, 0.0)


@signal()
def large(s: Signals) -> Bandwidths:
    """Collectives of at least 4 MiB, with the bus bandwidth of their transfer."""
    every = s(calls)
    factors = {
        (name, world): bus_factor(name, world)
        for name, world in set(zip(every.name.tolist(), every.world.tolist(), strict=True))
    }
    pairs = zip(every.name.tolist(), every.world.tolist(), strict=True)
    factor = np.array([factors[pair] or np.nan for pair in pairs])
    carried = every.bytes * factor
    known = (every.bytes > 0) & ~np.isnan(factor) & (every.transfer > 0)
    chosen = known & (every.bytes >= LARGE)
    if not chosen.any():
        raise MissingInputError(
            "no large collective with a known size and number of ranks is recorded",
            hint="record with record_shapes=True and a PyTorch of 2.3 or later, which notes sizes of messages",
        )
    found, fixed = every.where(chosen), _fixed_ns(carried, every.transfer)
    moving = np.maximum(found.transfer - fixed, found.transfer // 10 + 1)
    # Other groups may go over other links.
    beside = known & ~chosen & np.isin(every.group, found.group)
    smaller = every.where(beside) if fixed else None
    return Bandwidths(
        found, factor[chosen], found.bytes * factor[chosen] * 1e9 / moving, fixed, smaller, factor[beside]
    )  # fmt: skip


def _fixed_ns(carried: NDArray[np.float64], transfer: NDArray[np.int64]) -> int:
    """Time at size 0 of the line through the fastest of the smallest and of the largest collectives, ns."""
    known = (carried > 0) & (transfer > 0)  # not NaN
    if not known.any():
        return 0
    carried, transfer = carried[known], transfer[known]
    least, most = carried.min(), carried.max()
    if most < _APART * least:
        return 0
    first, last = (int(transfer[carried == size].min()) for size in (least, most))
    return max(0, round(float(first - max(last - first, 0) * least / (most - least))))


@signal("bytes/s")
def bandwidth(s: Signals) -> float:
    """Bus bandwidth of large collectives: the median, or the best where waiting is not distinguished from transfer."""
    found = s(large)
    return float(np.median(found.bandwidth) if found.calls.known else found.bandwidth.max())
