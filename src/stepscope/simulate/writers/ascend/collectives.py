"""A collective's name, and its parts: what goes over which plane, between which ranks, when.

Ranks of one machine are connected to each other directly: one plane per peer, all at once, in one phase (gather,
scatter) or two (all-reduce: reduce-scatter, then all-gather). Ranks of several machines exchange the rest with the
next machine over the network, on one more plane.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from stepscope.simulate.devices import DEVICES
from stepscope.simulate.job import SimJob
from stepscope.simulate.specs import Collective
from stepscope.simulate.writers.ascend.device import DeviceTask

#: HCCL's name of the group of all ranks.
GROUP: Final = "group_name_0"

#: Device time of a signal, in ns, and of a wait for one that is there already.
_SIGNAL: Final = 700
_REDUCING: Final = {"allreduce": (True, False), "_reduce_scatter_base": (True,), "_allgather_base": (False,)}


class CollectiveTask(NamedTuple):
    """One task of a collective; times are the job's, ``source`` and ``target`` ranks of the group."""

    start: int
    end: int
    plane: int
    name: str
    source: int
    target: int
    transport: str
    link: str
    bytes: int


def group_number(group: str = GROUP) -> int:
    """The number that stands for a group: two polynomial hashes of its name, with factors 29 and 131."""
    first = second = 0
    for letter in group:
        first = (first * 29 + ord(letter)) & 0xFFFFFFFF
        second = (second * 131 + ord(letter)) & 0xFFFFFFFF
    return first << 32 | second


def collective_name(work: DeviceTask) -> str:
    """The name of a collective in every file, equal on all ranks."""
    return f"{work.spec.name}_{group_number() % 1000:03d}_{work.sequence - 1}_1"


def planes(job: SimJob) -> int:
    """Planes of the group: the rank's own, one per peer on its machine, one for the network."""
    inside = min(job.ranks, job.ranks_per_host)
    return inside + (job.ranks > job.ranks_per_host)


def parts(job: SimJob, rank: int, work: DeviceTask) -> list[CollectiveTask]:
    """The parts of a collective of two ranks or more, in order of start.

    Until all ranks are there a rank waits on every plane; from then on the transfer's time is split evenly between
    the phases.
    """
    what = work.spec.collective
    if what is None or len(what.ranks) < 2:
        return []
    transfer = min(work.spec.duration_ns, work.end - work.start)
    phases = _REDUCING[what.name]
    arrived = work.end - transfer
    found = [_local_copy(job, rank, work, what)]
    edges = [arrived + transfer * i // len(phases) for i in range(len(phases) + 1)]
    peers = _peers(job, rank)
    for plane, (peer, remote) in enumerate(peers, 1):
        for i, reducing in enumerate(phases):
            # The first phase starts once all ranks are there, a later one once the peer has the phase before.
            start = edges[i] if i else work.start
            moving = min(start + _SIGNAL, edges[i + 1]) if i else edges[0]
            moved = _moved(job, what, (rank, peer), (moving, edges[i + 1]))
            found += _phase(_Link(plane, rank, peer, remote), reducing, (start, moving, moved, edges[i + 1]), what)
    return sorted(found, key=lambda part: (part.start, part.plane))


class _Link(NamedTuple):
    plane: int
    source: int
    target: int
    remote: bool


def _peers(job: SimJob, rank: int) -> list[tuple[int, bool]]:
    """Ranks that this one exchanges data with, and whether over the network."""
    first = rank // job.ranks_per_host * job.ranks_per_host
    count = min(job.ranks_per_host, job.ranks - first)
    near = [(first + (rank - first + i) % count, False) for i in range(1, count)]
    return [*near, ((rank + job.ranks_per_host) % job.ranks, True)] if job.ranks > job.ranks_per_host else near


def _local_copy(job: SimJob, rank: int, work: DeviceTask, what: Collective) -> CollectiveTask:
    """The rank's own share is copied within the device, read and written, while it waits for the others."""
    share = what.bytes // len(what.ranks)
    took = 3 * _SIGNAL + int(2 * share / DEVICES[job.device].bandwidth * 1e9)
    return CollectiveTask(
        work.start, min(work.start + took, work.end), 0, "Memcpy", rank, rank, "SDMA", "ON_CHIP", share
    )


def _moved(job: SimJob, what: Collective, pair: tuple[int, int], times: tuple[int, int]) -> int:
    """When a link has moved its share: at the end of the phase, but for those that are not the slow one."""
    moving, end = times
    slow = job.slow_link_rank
    if slow not in what.between or (slow in pair and (job.slow_link_peer < 0 or job.slow_link_peer in pair)):
        return end
    return moving + int((end - moving) / job.slow_link_factor)


def _phase(link: _Link, reducing: bool, times: tuple[int, int, int, int], what: Collective) -> list[CollectiveTask]:
    """Signal the peer, wait for it, move the data, wait for slower links.

    Times are the phase's start, the start and the end of moving, and the phase's end.
    """
    start, moving, moved, end = times
    signalled = min(start + _SIGNAL, moving)
    share = what.bytes // len(what.ranks)
    transport, name = ("RDMA", "RDMASend") if link.remote else ("SDMA", "Reduce_Inline" if reducing else "Memcpy")
    wire = "ROCE" if link.remote else "HCCS"
    ends = link.plane, link.source, link.target
    signal = CollectiveTask(start, signalled, ends[0], "Notify_Record", *ends[1:], transport, "INVALID_TYPE", 0)
    wait = CollectiveTask(signalled, moving, ends[0], "Notify_Wait", *ends[1:], "LOCAL", "INVALID_TYPE", 0)
    found = [signal, wait, CollectiveTask(moving, moved, ends[0], name, *ends[1:], transport, wire, share)]
    if moved < end:
        found.append(CollectiveTask(moved, end, ends[0], "Notify_Wait", *ends[1:], "LOCAL", "INVALID_TYPE", 0))
    return found
