"""The device has little to do while processors or disks are busy.

## What it finds
Devices that are in use for less than half of the time, on a machine whose processors or disks are in use nearly all
of it.

## Why it matters
The host is the bottleneck: it prepares data, launches work or waits for a disk, and a faster device would change
nothing.

## How it decides
From samples of the machine while the steps ran: the devices that the rank uses must be busy for at most `max_device`
of the time, as their driver says (`machine.device_busy`), and the job's threads must use `min_busy` of the cores that
it may use, or the busiest disk must be in use for `min_busy` of the time. There is no price: other findings say what
the device waits for, and what that costs.

## What to try
Where processors are busy: move work off the host (transforms on the device, fewer and larger operators, compiled
code), or give the job more cores. Where a disk is: read less, or from faster storage.

## Known limits
Needs samples of the machine with its devices, which `stepscope record` takes beside its recordings. A driver calls a
device busy in which any kernel runs, however small.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import listing, said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import step_ns
from stepscope.signals.system.machine import device_busy, disk_busy, processors

_OFF = Action(
    "Move transforms of batches to the device, or prepare them once",
    before="transform = Compose([RandomResizedCrop(224), ToTensor(), Normalize(mean, std)])",
    after="images = images.to(device, non_blocking=True)  # uint8, transformed there",
    page="data-loading",
)
_FASTER = Action("Keep the data in memory or on a faster disk, and store it smaller", page="data-loading")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the use of devices with that of processors and disks."""
    busy = s(device_busy)
    if busy > limits["max_device"]:
        return
    use, disk = s(processors), s(disk_busy)
    share = use.job / use.cores if use.cores else 0.0
    working, reading = share >= limits["min_busy"], disk >= limits["min_busy"]
    if not working and not reading:
        return
    what = [said("the job uses {job:.1f} of {cores:.3g} cores", job=use.job, cores=use.cores)] * working
    what += [said("the busiest disk is in use for {disk} of the time", disk=percent(disk))] * reading
    yield Draft(
        title="The device has little to do while the host is busy",
        summary=said(
            "The device is busy for {busy} of the time, and meanwhile {what}.",
            busy=percent(busy), what=listing(what, " and "),
        ),
        actions=(*((_OFF,) if working else ()), *((_FASTER,) if reading else ())),
        taken_ns=round((1 - busy) * s(step_ns)),
        confidence=0.7,
        rows=({"table": "machine_use", "where": {"subject": "processors"}},),
        numbers={device_busy.name: busy, disk_busy.name: disk, "cores_used": round(share, 3), **limits},
    )  # fmt: skip


RULE = Rule(
    "SYS005",
    "device-starved",
    thresholds=(
        Threshold("max_device", 0.5, "share", "Idle for most of the time."),
        Threshold("min_busy", 0.8, "share", "Nearly all of it: processors share work unevenly."),
    ),
    check=check,
    symptom_of=("DAT001", "DAT005", "DAT006", "DAT007", "DAT008", "HST013", "SYS001", "SYS002", "SYS007"),
)
