"""One rank's host is slower than the others'.

## What it finds
A rank for which the others wait in their collectives, whose device is as fast as theirs, and whose host takes longer
for operators and launch calls.

## Why it matters
The launches of this rank come late, its kernels start late, and every collective waits for it. The usual causes are
other processes on its cores, a wrong binding, a power saving mode or a slower processor, not the device.

## How it decides
Late ranks are those of CLU001: the others must wait `min_wait` of their step for them. What such a rank takes longer
must mostly be idle time of its device. Operators that call nothing, or launch calls, must take `min_host_ratio` times
as long there as on its like, by their medians (`host.operator_ns`, `host.call_ns`), and its device must wait for them
for `min_wait` of the step (`host.dispatch_share`). The price is the least that one of those that wait would save on its
dependency graph without waiting, and at most what the one waits for it that waits least.

## What to try
See what else runs on that host, how its processes are bound, and at which clock it runs. Make all hosts equal before
tuning the program.

## Known limits
Needs the recordings of at least half of the ranks of a group. A profiler that records more on one rank than on others
(stacks on rank 0) makes that rank's host slower: record all ranks alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.language import said
from stepscope.rules.cluster.lateness import MIN_HOST_RATIO, MIN_WAIT, READS, late_by_cause
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
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
    late = late_by_cause(ranks, limits).get("host")
    if late is None or late.first.host < limits["min_host_ratio"]:
        return
    hosts = sorted({name for rank in late.numbers if (name := ranks[rank].maybe(host_name))})
    where = said(" on {hosts}", hosts=", ".join(hosts)) if hosts else ""
    yield Draft(
        title="One rank's host is slower than the others'",
        summary=said(
            "{waiting}{where}: operators and launches take {host:.2f} times as long on the host there, "
            "and the same kernels {device:.2f} times as long on the device.{beside}",
            waiting=late.waiting, where=where, host=late.first.host, device=late.first.device, beside=late.beside,
        ),
        actions=(_COMPARE, _BIND),
        cost_ns=late.gain_ns,
        confidence=late.confidence,
        rows=tuple({"table": "slow_ranks", "where": {"rank": rank}} for rank in late.numbers[:4]),
        numbers={
            "host_ratio": late.first.host,
            "device_ratio": late.first.device,
            "waited_share": late.first.found.share,
            **limits,
        },
        always=True,
        ranks=(*late.numbers, *late.like),
        late=late.numbers,
    )  # fmt: skip


RULE = Rule(
    "CLU003",
    "slow-host",
    thresholds=(MIN_WAIT, MIN_HOST_RATIO),
    job_check=job_check,
    reads=READS,
)
