"""One rank's device is slower than the others'.

## What it finds
A rank for which the others wait in their collectives, and whose device takes longer for the same kernels.

## Why it matters
A synchronous job runs at the pace of its slowest device: each collective ends when the last rank has arrived. A device
that is throttled, too hot, shared with another process or partly broken slows down all of them.

## How it decides
A rank's wait in a collective is its own duration less that of the shortest participant, so that clocks of different
hosts are never compared. The ranks that wait less than 0.3 of what the others wait come last
(`cluster.waited_ns`); the others must wait `min_wait` of their step. Kernels of the same name that run equally often on
all ranks must take `min_ratio` times as long on the late ranks (`cluster.kernels`), while these have no more to compute
(`cluster.work`). The price is the least that one of the waiting ranks would save on its dependency graph without
waiting. With the recordings of several pipelines a rank also comes last because another stage holds it up: of its
pipeline the rank counts whose time outside of communication (`pipeline.own_ns`) exceeds that of its like, the same
stage of the other pipelines, most; and it is held against these.

## What to try
Compare clocks, temperatures and error counters of the device with its neighbours'; look for other processes on it; run
a plain matrix multiplication on each device. Take the host out of the job if the device stays slow.

## Known limits
Needs the recordings of all ranks of a group, over the same steps. Where the same kernels have different sizes on
different ranks and neither shapes nor grids are recorded, uneven work looks like a slow device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.model.amounts import duration, percent
from stepscope.rules.cluster.lateness import MIN_RATIO, MIN_WAIT, READS, late_ranks
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
    late = late_ranks(ranks, limits)
    if late is None or late.device < limits["min_ratio"] or late.work >= limits["min_ratio"]:
        return
    front = ranks[late.ranks[0]]
    yield Draft(
        title="One rank's device is slower than the others'",
        summary=f"The others wait {duration(late.wait_ns)} per step ({percent(late.share)}) for {late.names}: the same "
        f"kernels take {late.device:.2f} times as long there.",
        actions=(
            Action(
                "Compare the device with its neighbours: clock, temperature, power limit, errors, other processes",
                after=_LOOK.get(front.maybe(platform) or "", _LOOK_CUDA),
                page="slow-ranks",
            ),
            Action(
                "Leave its host out of the job if the device stays slow",
                before="srun --nodes=8 train.sh",
                after="srun --nodes=8 --exclude=node17 train.sh",
                page="slow-ranks",
            ),
        ),
        cost_ns=late.gain_ns,
        confidence=0.9,
        rows=tuple({"table": "step_budget", "where": {"rank": rank}} for rank in late.ranks[:4]),
        numbers={"device_ratio": late.device, "waited_share": late.share, **limits},
        ranks=(*late.ranks, *late.others),
    )


RULE = Rule(
    "CLU001",
    "slow-rank",
    thresholds=(MIN_WAIT, MIN_RATIO),
    job_check=job_check,
    reads=READS,
)
