"""One rank's host is slower than the others'.

## What it finds
A rank for which the others wait in their collectives, whose device is as fast as theirs, and whose host takes longer
for operators and launch calls.

## Why it matters
The launches of this rank come late, its kernels start late, and every collective waits for it. The usual causes are
other processes on its cores, a wrong binding, a power saving mode or a slower processor, not the device.

## How it decides
Late ranks are recognised by their short waits, and in pipelines by their own time, as in CLU001: the others must wait
`min_wait` of their step.
Operators that call nothing, or launch calls, must take `min_host_ratio` times as long on the late ranks as on the
others, by their medians (`host.operator_ns`, `host.call_ns`); their devices must wait for them for `min_wait` of the
step (`host.dispatch_share`), and the same kernels must not take `min_ratio` times as long there. The price is the least
that one of the waiting ranks would save on its dependency graph without waiting.

## What to try
See what else runs on that host, how its processes are bound, and at which clock it runs. Make all hosts equal before
tuning the program.

## Known limits
Needs the recordings of all ranks of a group. A profiler that records more on one rank than on others (stacks on rank 0)
makes that rank's host slower: record all ranks alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.model.amounts import duration, percent
from stepscope.rules.cluster.lateness import MIN_RATIO, MIN_WAIT, READS, late_ranks
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.cluster import host_name

_COMPARE = Action(
    "Compare the host with the others: load, clock, binding, limits",
    after="for node in $NODES; do\n    ssh $node 'hostname; uptime; cpupower frequency-info -fm; numactl --show'\ndone",
    page="slow-ranks",
)
_BIND = Action(
    "Bind each process to cores of its own near its device",
    before="torchrun --nproc-per-node=8 train.py",
    after="numactl --cpunodebind=$NODE_OF_DEVICE --membind=$NODE_OF_DEVICE python train.py",
    page="host-cores",
)


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Look for late ranks with slower hosts."""
    late = late_ranks(ranks, limits)
    if late is None or late.host < limits["min_host_ratio"] or late.dispatch < limits["min_wait"]:
        return
    if late.device >= limits["min_ratio"]:
        return
    hosts = sorted({name for rank in late.ranks if (name := ranks[rank].maybe(host_name))})
    where = f" on {', '.join(hosts)}" if hosts else ""
    yield Draft(
        title="One rank's host is slower than the others'",
        summary=f"The others wait {duration(late.wait_ns)} per step ({percent(late.share)}) for {late.names}{where}: "
        f"operators and launches take {late.host:.2f} times as long on the host there, and the same kernels "
        f"{late.device:.2f} times as long on the device.",
        actions=(_COMPARE, _BIND),
        cost_ns=late.gain_ns,
        confidence=0.85,
        rows=tuple(
            {"table": "idle_causes", "where": {"rank": rank, "cause": "host_dispatch"}} for rank in late.ranks[:4]
        ),
        numbers={"host_ratio": late.host, "device_ratio": late.device, "waited_share": late.share, **limits},
        ranks=(*late.ranks, *late.others),
    )


RULE = Rule(
    "CLU003",
    "slow-host",
    thresholds=(
        MIN_WAIT,
        MIN_RATIO,
        Threshold(
            "min_host_ratio",
            1.2,
            "ratio",
            "Medians of thousands of calls differ by less than 10 % between equal hosts.",
        ),
    ),
    job_check=job_check,
    reads=READS,
)
