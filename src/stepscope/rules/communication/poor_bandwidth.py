"""Large collectives run far below the bandwidth of the link.

## What it finds
Collectives of several MiB, which should be limited by the link's bandwidth, at a bus bandwidth below what any intact
link of the kind gives.

## Why it matters
A link ten times slower than it should be turns communication that hides behind compute into the longest part of the
step, on all ranks at once. It is easily overlooked, since everything still works.

## How it decides
Bus bandwidth (bytes over transfer time, times the factor of the collective) of calls of 4 MiB and more. What a call
takes whatever its size, as calls of several sizes tell, does not count. The bandwidth is held against what the link
must give: between devices of one host with links of their own a fifth of what large collectives usually get there (70 %
of one direction's rate); over HCCS half of 18 GB/s for each link; else, where ranks may sit on different hosts,
`min_remote`. Where waiting for other ranks can't be distinguished from transfer, the best of at least `min_calls` calls
counts instead of the median. The price is what the step would save if these collectives ran at the usual bandwidth, and
with them smaller ones of the same groups, where it is known what they take besides moving their bytes.

## What to try
Look at what the library chose: `NCCL_DEBUG=INFO` (HCCL: `HCCL_ENTRY_LOG_ENABLE=1`) names the transport of each
channel. Peer-to-peer access switched off, a container without `/dev/shm` or the InfiniBand devices, a wrong network
interface, access control services of PCI Express bridges and a cable at half its width all look like this.

## Known limits
The recording does not say what the link is; a network of 25 Gbit/s is what it is, and is reported all the same. Sizes
of messages must be recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stepscope.language import said
from stepscope.model.amounts import quantity
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.communication.rdma_class import RDMA_CLASS
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.communication import CollectiveCalls
from stepscope.signals.communication.links import Bandwidths, Link, bandwidth, large, link
from stepscope.signals.communication.packets import moved
from stepscope.signals.shared.job import platform
from stepscope.signals.shared.step_columns import longest

_CUDA = Action(
    "See which transport NCCL chose, and let it use peer-to-peer access and the right network interface",
    before="NCCL_P2P_DISABLE=1  NCCL_IB_DISABLE=1  NCCL_SOCKET_IFNAME=eth0",
    after="NCCL_DEBUG=INFO torchrun ...   # look for 'via P2P' or 'via NET/IB', not 'via NET/Socket' or 'via SHM'\n"
    "nvidia-smi topo -m; nvidia-smi nvlink -s",
    page="collective-bandwidth",
)
_ROCM = Action(
    "See which transport RCCL chose, and let it use xGMI and the right network interface",
    after="NCCL_DEBUG=INFO torchrun ...   # look for 'via P2P' or 'via NET/IB'\nrocm-smi --showtopo",
    page="collective-bandwidth",
)
_NPU = Action(
    "Where devices of one server talk over PCI Express, let them use RoCE instead; check the links' state",
    before="HCCL_INTRA_PCIE_ENABLE=1",
    after="export HCCL_INTRA_ROCE_ENABLE=1\nexport HCCL_INTRA_PCIE_ENABLE=0\nhccn_tool -i 0 -link -g",
    page="hccl-settings",
)
_LESS = Action("If the link is all there is, send less: bf16 gradients, accumulation over several micro-batches, "
               "sharding within a host only", page="collective-bandwidth")  # fmt: skip


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the bus bandwidth with what such a link must give."""
    found, way = s(large), s(link)
    least = way.least or limits["min_remote"]
    rate, known = s(bandwidth), found.calls.known
    if rate >= least or found.bandwidth.size < (1 if known else limits["min_calls"]):
        return
    reached = said("{rate} in the median", rate=quantity(rate, "bytes/s"))
    if not known:
        reached = said("{rate} at best", rate=quantity(rate, "bytes/s"))
    apart = (
        ""
        if known
        else said("; waiting for other ranks can't be distinguished from transfer on the recordings at hand")
    )
    yield Draft(
        title="Collectives run far below the link's bandwidth",
        summary=said(
            "Collectives of up to {bytes} reach a bus bandwidth of {reached}; over {name}, {usual} are "
            "usual and {least} the least to expect{apart}.",
            bytes=quantity(int(found.calls.bytes.max()), "bytes"), reached=reached, name=way.name,
            usual=quantity(way.usual, "bytes/s"), least=quantity(least, "bytes/s"), apart=apart,
        ),
        actions=(*_remote(s), {"npu": _NPU, "rocm": _ROCM}.get(s(platform), _CUDA), _LESS),
        change=_faster(found, way),
        confidence=0.9 if known else 0.5,
        events=longest(found.calls.event, found.calls.transfer),
        rows=({"table": "collectives", "where": {"name": str(found.calls.name[0])}},),
        numbers={bandwidth.name: rate, "usual": way.usual, "least": least},
    )  # fmt: skip


def _remote(s: Signals) -> tuple[Action, ...]:
    """Where RDMA moved data, its class decides whether switches lose packets."""
    parts = s.maybe(moved)
    return RDMA_CLASS if parts is not None and parts.by("RDMA").bytes.size else ()


def _faster(found: Bandwidths, way: Link) -> Change:
    """Transfers at the usual bandwidth, small ones too, which may be the last of a step; what was waiting stays."""
    parts = [(found.calls, found.factor)]
    if found.smaller is not None:
        parts.append((found.smaller, found.smaller_factor))
    kept = [_kept(calls, found.fixed_ns + calls.bytes * factor * 1e9 / way.usual) for calls, factor in parts]
    return Change(device=scaled_each(np.concatenate([calls.event for calls, _ in parts]), np.concatenate(kept)))


def _kept(calls: CollectiveCalls, usual: NDArray[np.float64]) -> NDArray[np.float64]:
    """What remains of each call if its transfer takes as long as usual, and no longer than it did."""
    return (calls.dur - calls.transfer + np.minimum(usual, calls.transfer)) / np.maximum(calls.dur, 1)


RULE = Rule(
    "COM002",
    "poor-bandwidth",
    thresholds=(
        Threshold("min_remote", 5e9, "bytes/s", "40 Gbit/s: hosts for training have adapters of 100 to 400 Gbit/s."),
        Threshold("min_calls", 5, "count", "Of so many calls the best is unlikely to have waited for another rank."),
    ),
    check=check,
    symptom_of=("CLU002",),
)
