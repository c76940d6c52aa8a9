"""Nothing in the machine is busy.

## What it finds
A job during whose steps neither the device nor a processor nor a disk has much to do.

## Why it matters
What the step waits for is not in this machine, or not at work: answers from a network, another rank, a lock, a timer.
More cores, disks or devices would change nothing; more requests at a time would.

## How it decides
From samples of the machine while the steps ran: the main thread of the rank must wait for something else than a
processor for `min_blocked` of the time, the job's threads together use at most `max_cores` processors, the busiest
disk and, where there is one, the device be in use for at most `max_busy` of the time (`machine.processors`,
`machine.disk_busy`, `machine.device_busy`). There is no price: what the wait is for does not show.

## What to try
A stack at that moment (`py-spy dump`) shows what it waits for. Ask for the next data while the present is at work;
ask for several things at a time; hold locks for a shorter time.

## Known limits
Needs samples of the machine, which `stepscope record` takes beside its recordings. A wait for another rank looks the
same: compare all ranks of the job.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import device, step_ns
from stepscope.signals.system.machine import device_busy, disk_busy, network_rate, processors

_DUMP = Action(
    "Find out what the program waits for",
    before="python train.py",
    after="py-spy dump --pid $PID   # a few times while it waits",
    page="host-cores",
)
_AHEAD = Action(
    "Ask for several batches at a time, ahead of the step that needs them",
    before="DataLoader(dataset, num_workers=1)",
    after="DataLoader(dataset, num_workers=8, prefetch_factor=4, persistent_workers=True)",
    page="prefetching",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """See whether anything was busy."""
    use, disk = s(processors), s(disk_busy)
    if use.blocked is None or use.blocked < limits["min_blocked"] or use.job > limits["max_cores"]:
        return
    busy = s(device_busy) if s(device) is not None else 0.0
    if max(disk, busy) > limits["max_busy"]:
        return
    rate: float = s(network_rate)
    on_device = said(", the device is busy for {busy}", busy=percent(busy)) if s(device) is not None else ""
    yield Draft(
        title="Nothing in the machine is busy",
        summary=said(
            "For {blocked} of the time the main thread waits for something else than a processor; the job "
            "uses {job:.2f} cores{on_device}, the busiest disk is in use for {disk} of the time, and "
            "{rate} come and go over the network.",
            blocked=percent(use.blocked), job=use.job, on_device=on_device, disk=percent(disk),
            rate=quantity(rate, "bytes/s"),
        ),
        actions=(_DUMP, _AHEAD),
        taken_ns=round(use.blocked * s(step_ns)),
        waiting=True,
        confidence=0.7,
        rows=({"table": "machine_use", "where": {"subject": "processors"}},),
        numbers={
            "main_blocked": round(use.blocked, 3),
            "cores_used": round(use.job, 3),
            disk_busy.name: disk,
            "device_busy": busy,
            **limits,
        },
    )  # fmt: skip


RULE = Rule(
    "SYS006",
    "nothing-busy",
    thresholds=(
        Threshold("min_blocked", 0.5, "share", "Most of the time."),
        Threshold("max_cores", 0.5, "count", "Less than half a core: not even one thread is busy."),
        Threshold("max_busy", 0.3, "share", "Neither is in use for most of the time."),
    ),
    check=check,
    symptom_of=("DAT001", "DAT005", "DAT007", "DAT008", "SYS002", "SYS003"),
)
