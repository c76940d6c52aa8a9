"""Groups of ranks on servers, and how long collectives take among them."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from stepscope.planning.machine.platform import Platform


@dataclass(frozen=True, slots=True)
class LinkGroup:
    """Ranks of one communicator.

    Attributes:
        size: Its ranks.
        inside: How many of them share a server.
    """

    size: int
    inside: int

    @classmethod
    def of(cls, size: int, stride: int, platform: Platform) -> LinkGroup:
        """A group whose neighbours lie `stride` ranks apart, ranks filled_share servers in order."""
        return cls(size, max(1, min(size, platform.per_server // max(1, stride))))

    @property
    def across(self) -> bool:
        """Whether it spans servers."""
        return self.size > self.inside


def bandwidth(group: LinkGroup, platform: Platform) -> float:
    """Bytes per second of a ring's bus: between servers, every member on a server brings a network port."""
    link = platform.link * mesh_share(group.inside, platform)
    return min(link, platform.network * group.inside) if group.across else link


def mesh_share(inside: int, platform: Platform) -> float:
    """The share of a server's links that so many of its devices use: without a switch, those to each other."""
    if not platform.mesh or inside < 2:
        return 1.0
    return (inside - 1) / max(1, platform.per_server - 1)


def latency(group: LinkGroup, platform: Platform) -> float:
    """Seconds before the first byte has gone round: a tree within servers, and one among them."""
    inside = log2(max(2, group.inside)) * platform.latency
    servers = group.size / group.inside
    return inside + (log2(max(2, servers)) * 3 * platform.latency if group.across else 0.0)


def all_reduce(size: float, group: LinkGroup, platform: Platform) -> float:
    """Seconds of an all-reduce of `size` bytes: a ring moves 2 (n-1)/n of them."""
    if group.size < 2 or size <= 0:
        return 0.0
    moved = 2 * (group.size - 1) / group.size * size
    return moved / bandwidth(group, platform) + 2 * latency(group, platform)


def gather(size: float, group: LinkGroup, platform: Platform) -> float:
    """Seconds of an all-gather to, or a reduce-scatter of, `size` bytes in all: a ring moves (n-1)/n of them."""
    if group.size < 2 or size <= 0:
        return 0.0
    moved = (group.size - 1) / group.size * size
    return moved / bandwidth(group, platform) + ring_latency(group, platform)


def ring_latency(group: LinkGroup, platform: Platform) -> float:
    """Seconds of a ring's hops, which gathers and scatters need one after the other: one per rank."""
    servers = group.size / group.inside
    return (group.inside - 1) * platform.latency / 6 + max(1.0, servers) * platform.latency


def all_to_all(size: float, group: LinkGroup, platform: Platform, crossing: float = 1.0) -> float:
    """Seconds of an all-to-all in which a rank sends `size` bytes in all: what leaves the server passes its port.

    With `crossing`, only that share of it does, and is spread in the server that it arrives in.
    """
    if group.size < 2 or size <= 0:
        return 0.0
    within = (group.inside - 1) / group.size * size / platform.link
    leaving = crossing * (group.size - group.inside) / group.size * size
    between = leaving / platform.network if group.across else 0.0
    return max(within, between) + latency(group, platform)


def send(size: float, between_servers: bool, platform: Platform) -> float:
    """Seconds of a transfer to the next pipeline stage."""
    return size / (platform.network if between_servers else platform.link) + 2 * platform.latency
