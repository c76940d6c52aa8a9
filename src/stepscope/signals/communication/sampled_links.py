"""What the device's links carried and lost, as sampled while the job ran."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.model.errors import MissingInputError
from stepscope.signals.signal import Signals, signal


@dataclass(frozen=True, slots=True)
class SampledLink:
    """A link's port in one direction.

    Attributes:
        link: NIC, RoCE, HCCS or PCIe.
        port: As recorded; empty if not.
        direction: receive or transmit.
        bandwidth: What it can carry, bytes/s; None if not recorded.
        peak_share: Largest rate of a sample as a share of that; None if not known.
        lost_share: Packets that were dropped or had errors, as a share, mean of the samples; None if not recorded.
    """

    link: str
    port: str
    direction: str
    bandwidth: float | None
    peak_share: float | None
    lost_share: float | None


@signal()
def sampled_links(s: Signals) -> tuple[SampledLink, ...]:
    """Links between machines, by port and direction."""
    rows = s.table("link_rates").records()
    wanted = ("direction", "bandwidth", "peak_share", "lost_share")
    found = [
        SampledLink(row["link"], row["port"] or "", *(row[name] for name in wanted))
        for row in rows
        if row["link"] in ("NIC", "RoCE")
    ]
    if not found:
        raise MissingInputError("links between machines were not sampled", hint="record counters of the links as well")
    return tuple(found)
