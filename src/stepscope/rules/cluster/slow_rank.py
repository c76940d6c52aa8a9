"""One rank's device is slower than the others'.

## What it finds
A rank for which the others wait in their collectives, and whose device takes longer for the same kernels.

## Why it matters
A synchronous job runs at the pace of its slowest device: each collective ends when the last rank has arrived. A device
that is throttled, too hot, shared with another process or partly broken slows down all of them.

## How it decides
A rank's wait in a collective is its own duration less that of the shortest participant, so that clocks of different
hosts are never compared. A rank is late if it hardly waits, and those that are like it, the ranks of the same stage
where there is a pipeline, wait `min_wait` of their step longer, in three steps or in all of fewer, and by more than
chance (`late_ranks.late_ranks`, which the table `slow_ranks` asks as well). Without a pipeline a rank that waits for
another one first is late, too, if they wait so long in collectives of the whole job to which it came last. What it
takes longer must mostly be computing: kernels of the same name that run equally often take `min_ratio` times as long as
on its like (`cluster.kernels`), while it has no more to compute (`cluster.work`). The price is the least that one of
those that wait would save on its dependency graph without waiting, and at most what the one waits for it that waits
least.

## What to try
Compare clocks, temperatures and error counters of the device with its neighbours'; look for other processes on it; run
a plain matrix multiplication on each device. Take the host out of the job if the device stays slow.

## Known limits
Needs the recordings of at least half of the ranks of a group, over the same steps; those that are not at hand may be
later still. Where the same kernels have different sizes on
different ranks and neither shapes nor grids are recorded, uneven work looks like a slow device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.language import said
from stepscope.rules.cluster.lateness import MIN_RATIO, MIN_WAIT, READS, late_by_cause
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.shared.job import platform

_LOOK = {
    "npu": "npu-smi info -t common -i 0   # temperature, power, AI Core frequency\nnpu-smi info -t proc-mem -i 0",
    "rocm": "rocm-smi --showclocks --showtemp --showpower --showpids",
    "xpu": "xpu-smi stats -d 0",
}
_LOOK_CUDA = (
    "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,ECC\nnvidia-smi --query-compute-apps=pid,used_memory --format=csv"
)


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Look for late ranks with slower devices."""
    late = late_by_cause(ranks, limits).get("device")
    if late is None or late.first.device < limits["min_ratio"]:
        return
    front = ranks[late.numbers[0]]
    yield Draft(
        title="One rank's device is slower than the others'",
        summary=said(
            "{waiting}: the same kernels take {device:.2f} times as long there.{beside}",
            waiting=late.waiting, device=late.first.device, beside=late.beside,
        ),
        actions=(
            compare_device(front),
            Action(
                "Leave its host out of the job if the device stays slow",
                before="srun --nodes=8 train.sh",
                after="srun --nodes=8 --exclude=node17 train.sh",
                page="slow-ranks",
            ),
        ),
        cost_ns=late.gain_ns,
        confidence=late.confidence,
        rows=tuple({"table": "slow_ranks", "where": {"rank": rank}} for rank in late.numbers[:4]),
        numbers={"device_ratio": late.first.device, "waited_share": late.first.found.share, **limits},
        always=True,
        ranks=(*late.numbers, *late.like),
        late=late.numbers,
    )  # fmt: skip


def compare_device(s: Signals) -> Action:
    """How to hold a device of the platform at hand against its neighbours."""
    return Action(
        "Compare the device with its neighbours: clock, temperature, power limit, errors, other processes",
        after=_LOOK.get(s.maybe(platform) or "", _LOOK_CUDA),
        page="slow-ranks",
    )


RULE = Rule(
    "CLU001",
    "slow-rank",
    thresholds=(MIN_WAIT, MIN_RATIO),
    job_check=job_check,
    reads=READS,
)
