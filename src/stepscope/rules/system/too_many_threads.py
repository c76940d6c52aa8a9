"""More threads want to run than there are processors.

## What it finds
A job whose threads are often ready to run and have no processor, its main thread among them.

## Why it matters
Threads that share a core take turns of milliseconds. A thread pool ends when its last thread does, so that one that
waits for its turn holds up all others; the thread that launches the device's work waits as well.

## How it decides
From samples of the machine while the steps ran (`machine.processors`): the job's threads that run, those that are
ready to, and the cores that other processes use must together exceed the cores that it may use by `min_over`, and the
rank's main thread must be ready without a processor for `min_waiting` of the time. Where other processes use more
than the job does, the summary says so, and in a job without a device the price is what the main thread waits of the
step, with the same part of its wait for batches if workers prepare them. Where it is the job's own threads that are too
many, fewer of them leave the same work to do: then there is no price.

## What to try
Fewer threads: loader workers, and threads of OpenMP in each process, together no more than the cores. Each process of
PyTorch starts as many threads as there are cores unless told otherwise. Leave other processes off these cores.

## Known limits
Needs samples of the machine, which `stepscope record` takes beside its recordings, and a Linux that counts waits of
threads (`/proc/PID/schedstat`). With a device, what its host loses need not delay it, so that there is no price either.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.data import wait_ns
from stepscope.signals.shared.job import device, step_ns
from stepscope.signals.system.machine import ProcessorUse, processors

_FEWER = Action(
    "Let workers and threads of each process together be no more than the cores",
    before="DataLoader(dataset, num_workers=16)  # each process with as many OpenMP threads as there are cores",
    after="export OMP_NUM_THREADS=4\nDataLoader(dataset, num_workers=4)",
    page="host-cores",
)
_ALONE = Action(
    "Give the job cores that no other process uses",
    before="python train.py",
    after="taskset -c 0-15 python train.py   # and the others elsewhere; or a container with --cpuset-cpus",
    page="host-cores",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare threads that want to run with the cores."""
    use = s(processors)
    waits = use.main_waiting
    wanted = use.job + use.waiting + use.others
    if wanted < (1 + limits["min_over"]) * use.cores or waits is None or waits < limits["min_waiting"]:
        return
    cost = _cost(s, use, waits)
    foreign = use.others > use.job
    priced = foreign and s(device) is None
    yield Draft(
        title="More threads want to run than there are processors",
        summary=said("On average {job:.1f} threads of the job run and {waiting:.1f} more are ready to, on "
"{cores:.3g} cores; the main thread is ready without a processor for {waits} of the "
"time{who}.", job=use.job, waiting=use.waiting, cores=use.cores, waits=percent(waits), who=_who(use, foreign)),
        actions=(_ALONE, _FEWER) if foreign else (_FEWER, _ALONE),
        cost_ns=cost if priced else None,
        taken_ns=None if priced else cost,
        confidence=0.8,
        rows=({"table": "machine_use", "where": {"subject": "job"}},),
        numbers={
            "running": round(use.job, 2), "ready": round(use.waiting, 2), "cores": use.cores,
            "main_waiting": round(waits, 4), **limits,
        },
    )  # fmt: skip


def _cost(s: Signals, use: ProcessorUse, waits: float) -> int:
    """The main thread's part of the step, and the part of its wait for batches in which workers wait for a turn."""
    waited = s.maybe(wait_ns) if use.workers else None
    late = use.waiting / (use.waiting + use.job) * waited if waited else 0.0
    return min(round(waits * s(step_ns) + late), s(step_ns))


def _who(use: ProcessorUse, foreign: bool) -> str:
    if foreign:
        return said("; other processes use {others:.1f} cores", others=use.others)
    return said(
        "; it has {threads} threads in {processes} processes, {workers} of them loader workers",
        threads=use.threads, processes=use.processes, workers=use.workers,
    )  # fmt: skip


RULE = Rule(
    "SYS007",
    "too-many-threads",
    thresholds=(
        Threshold("min_over", 0.25, "share", "A quarter more than there is room for; bursts belong to every job."),
        Threshold("min_waiting", 0.05, "share", "Every thread waits for a turn now and then."),
    ),
    check=check,
    symptom_of=("SYS001",),
)
