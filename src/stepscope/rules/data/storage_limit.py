"""Storage is at its limit.

## What it finds
A step that waits for its batch while the disk that the data lies on is in use all the time, mostly by this job.

## Why it matters
A disk that is always in use gives no more bytes, however many workers ask for them.

## How it decides
From samples of the machine while the steps ran: the busiest disk with data files of the job must be in use for
`min_busy` of the time, and the job must cause `min_share` of its traffic (`machine_storage.data_disk`). The wait for
a batch must come to `min_wait` of the step. The price is that of batches that are ready, at most the part of the wait
in which who loads waits for something else than a processor (`machine_storage.loading_blocked_ns`).

## What to try
Read less: store samples smaller (compressed, resized, packed). Keep what is read again in memory or on a faster disk.
A disk with few requests at a time answers more of them together: read in more workers.

## Known limits
Needs samples of the machine, which `stepscope record` takes beside its recordings. A solid state disk may be in use
all the time and still have room for more requests at a time. Of network storage only the network shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.data import regular, wait_ns, wait_share
from stepscope.signals.system.machine_storage import DiskUse, data_disk, loading_blocked_ns

_PARALLEL = Action(
    "Let more workers read at a time: the disk answers requests together",
    before="DataLoader(dataset, num_workers=1)",
    after="DataLoader(dataset, num_workers=8, prefetch_factor=4)",
    page="prefetching",
)
_LESS = Action(
    "Store samples smaller, and keep in memory what is read again",
    before="DataLoader(Images('/data/originals'))  # decoded and resized in every epoch",
    after="DataLoader(Images('/data/resized_256'))  # prepared once",
    page="data-loading",
)
#: Requests at a time below which a disk that is not rotational could answer more.
_FEW: float = 4.0


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for a disk in use all the time behind a wait for batches."""
    if s(wait_share) < limits["min_wait"]:
        return
    disk = s(data_disk)
    if disk.busy < limits["min_busy"] or disk.job_share < limits["min_share"]:
        return
    most = s.maybe(loading_blocked_ns)
    parallel = disk.queue < _FEW and disk.kind != "rotational"
    yield Draft(
        title="Storage is at its limit",
        summary=said(
            "Disk {name} ({mount}) is in use for {busy} of the time, at {rate}{each}; the step waits "
            "{wait} ({wait_share} of it) for its batch.",
            name=disk.name, mount=disk.mount, busy=percent(disk.busy), rate=quantity(disk.rate, "bytes/s"),
            each=_each(disk), wait=duration(s(wait_ns)), wait_share=percent(s(wait_share)),
        ),
        actions=(_PARALLEL, _LESS) if parallel else (_LESS,),
        change=Change(host=(Scaled(s(regular).events, 0.0),)) if most else None,
        most_ns=most or None,
        taken_ns=None if most else s(wait_ns),
        waiting=not most,
        confidence=0.75,
        events=s(regular).events[:20],
        rows=({"table": "machine_use", "where": {"subject": said("disk {name}", name=disk.name)}},),
        numbers={
            "disk_busy": round(disk.busy, 3),
            "job_share": round(disk.job_share, 3),
            wait_share.name: s(wait_share),
            **limits,
        },
    )  # fmt: skip


def _each(disk: DiskUse) -> str:
    return "" if disk.read_ns is None else said(" and {read} per read", read=duration(round(disk.read_ns)))


RULE = Rule(
    "DAT008",
    "storage-limit",
    thresholds=(
        Threshold("min_wait", 0.01, "share", "What costs less than 1 % of the step is not shown."),
        Threshold("min_busy", 0.9, "share", "A disk that is idle for a tenth of the time has room for more."),
        Threshold("min_share", 0.5, "share", "Most of its traffic is the job's."),
    ),
    check=check,
)
