"""Collectives move too little at a time for their link, or RDMA runs far below its adapter's rate.

## What it finds
On Ascend devices, collectives that move less than a link needs to reach its rate, and that are slow for it; and
transfers of other machines' data by RDMA that are slow although they are large.

## Why it matters
A transfer begins with a handshake. By SDMA, between devices of a machine, 16 MB are wanted until that no longer counts,
by RDMA 1 MB. A network whose switches do not control the flow of the class that RDMA uses loses packets, sends them
again, and gives a fraction of its rate.

## How it decides
From the sums of `communication.json` or `analysis.db`, operation by operation. Small ones must be `min_part` of all of
their transport and move data for `min_share` of the step, at less than `slow` of the rate of the large ones (by SDMA,
where there are none, of `usual_sdma`). RDMA is slow where operations of 1 MB and more get less than `min_rdma`
together, or than `min_rdma_part` of the adapter's bandwidth where that was sampled, and move data for `min_share` of
the step. An adapter that carries `full` of what it can at another time may have others to serve. Both are advice: what
the remedy gives is not recorded.

## What to try
Larger buckets, fused collectives, micro-batches that are accumulated. For RDMA: the traffic class and service level
that the switches protect (`HCCL_RDMA_TC`, whose bits 2 to 7 are the DSCP, 132 by default; `HCCL_RDMA_SL`, 0 to 7, 4 by
default, equal to the priority of the flow control), and the adapters' counters.

## Known limits
Needs a recording of level 1 or 2. Where links were not sampled (`sys_io`), what the adapter could do is not recorded:
`min_rdma` is a fifth of 200 Gbit/s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.analyses.communication.packet_sizes import SMALL_BYTES
from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.rules.communication.rdma_class import RDMA_CLASS
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.packets import MovedOperations, moved
from stepscope.signals.communication.sampled_links import sampled_links
from stepscope.signals.shared.job import step_ns

_LARGER: Final = Action(
    "Let each collective move more: larger buckets, and gradients that are reduced once per several micro-batches",
    before="DistributedDataParallel(model, bucket_cap_mb=25)",
    after="DistributedDataParallel(model, bucket_cap_mb=200)   # Megatron, MindSpeed: --ddp-bucket-size",
    page="collective-bandwidth",
)
_ALONE: Final = Action(
    "Give collectives an adapter that nothing else uses: storage, checkpoints and other jobs on another network",
    page="collective-bandwidth",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at the sizes and rates of each transport."""
    every, step = s(moved), s(step_ns)
    for transport, least in SMALL_BYTES.items():
        mine = every.by(transport)
        small, large = mine.where(mine.bytes < least), mine.where(mine.bytes >= least)
        usual = large.rate or (limits["usual_sdma"] if transport == "SDMA" else 0.0)
        if not small.bytes.size or small.bytes.size < limits["min_part"] * mine.bytes.size:
            continue
        if small.ns_per_step < limits["min_share"] * step or small.rate >= limits["slow"] * usual:
            continue
        yield _small(transport, small, small.bytes.size / mine.bytes.size, (usual, step), limits)
    remote = every.by("RDMA")
    remote = remote.where(remote.bytes >= SMALL_BYTES["RDMA"])
    links = s.maybe(sampled_links) or ()
    able = max((one.bandwidth for one in links if one.bandwidth), default=None)
    expected = limits["min_rdma"] if able is None else limits["min_rdma_part"] * able
    if remote.ns_per_step >= limits["min_share"] * step and 0 < remote.rate < expected:
        fullest = max((one.peak_share or 0.0 for one in links), default=0.0)
        yield _slow(remote, (expected, step), fullest, limits)


def _small(transport: str, small: MovedOperations, part: float, against: tuple[float, int], limits: Limits) -> Draft:
    usual, step = against
    spent = small.ns_per_step
    return Draft(
        title="Collectives move too little at a time",
        summary=said(
            "{part} of the collectives that use {transport} move less than {small_bytes}, {bytes} on "
            "average, at {rate} where {usual} are usual: {spent} per step ({share}).",
            part=percent(part), transport=transport, small_bytes=quantity(SMALL_BYTES[transport], "bytes"),
            bytes=quantity(float(small.bytes.mean()), "bytes"), rate=quantity(small.rate, "bytes/s"),
            usual=quantity(usual, "bytes/s"), spent=duration(spent), share=percent(spent / step),
        ),
        actions=(_LARGER,),
        taken_ns=spent,
        confidence=0.5,
        rows=({"table": "packet_sizes", "where": {"small": True}},),
        numbers={"part": part, "rate": small.rate, "usual": usual, **limits},
        key=f"small-{transport}",
    )  # fmt: skip


def _slow(remote: MovedOperations, against: tuple[float, int], fullest: float, limits: Limits) -> Draft:
    least, step = against
    spent, full = remote.ns_per_step, fullest >= limits["full"]
    carried = said(
        " At times their adapter carries {fullest} of what it can: others may use it as well.", fullest=percent(fullest)
    )
    return Draft(
        title="RDMA runs far below the rate of its link",
        summary=said(
            "Transfers by RDMA of {bytes} on average get {rate}, where {least} are the least to expect: "
            "{spent} per step ({share}).{full}",
            bytes=quantity(float(remote.bytes.mean()), "bytes"), rate=quantity(remote.rate, "bytes/s"),
            least=quantity(least, "bytes/s"), spent=duration(spent), share=percent(spent / step),
            full=carried if full else "",
        ),
        actions=(*((_ALONE,) if full else ()), *RDMA_CLASS, _LARGER),
        taken_ns=spent,
        confidence=0.6,
        rows=({"table": "packet_sizes", "where": {"link": "RDMA"}},),
        numbers={"rate": remote.rate, "least": least, "fullest": fullest, **limits},
        key="rdma",
    )  # fmt: skip


RULE = Rule(
    "COM010",
    "small-packets",
    thresholds=(
        Threshold("min_part", 0.2, "share", "Share of small ones from which msprof-analyze reports them."),
        Threshold("min_share", 0.02, "share", "Transfers that take less of the step are not worth a change."),
        Threshold("slow", 0.5, "share", "At half of the usual rate and more, larger ones gain little."),
        Threshold("usual_sdma", 18e9, "bytes/s", "Usual rate of a link between two NPUs (msprof-analyze)."),
        Threshold("min_rdma", 5e9, "bytes/s", "40 Gbit/s: NPUs of training servers have adapters of 200 Gbit/s."),
        Threshold("min_rdma_part", 0.2, "share", "The same as a part of what an adapter can carry."),
        Threshold("full", 0.9, "share", "What protocols leave of a link's bandwidth to the data."),
    ),
    check=check,
    symptom_of=("COM002", "COM003", "COM008"),
)
