"""The loader reads many small files.

## What it finds
A step that waits for its batch while the job makes many small reads, of files that do not stay open.

## Why it matters
Opening a file costs several requests to its filesystem, however little is in it: microseconds on a local disk whose
directory is in memory, milliseconds on network storage. Thousands of files per batch take longer than their bytes.

## How it decides
From samples of the machine while the steps ran: at least `min_reads` calls that read per step
(`machine_storage.file_reads`), of `min_bytes` to `max_bytes` bytes each on average, and at most `max_kept_open` data
files that are open at two samples in a row: a large file that is read in small parts stays open. The wait for a batch
must come to `min_wait` of the step. The price is that of batches that are ready, at most the time in which Python
opens and reads files within the wait (`machine_storage.loader_file_ns`), or else in which who loads waits for
something else than a processor (`machine_storage.loading_blocked_ns`).

## What to try
Pack samples into a few large files that are read in order (tar shards, Parquet, LMDB, memory-mapped arrays); copy the
data to a local disk or into memory before the job; read ahead in worker processes.

## Known limits
Needs samples of the machine, which `stepscope record` takes beside its recordings. Linux does not count opens by
process; reads from pipes and of the program itself count as reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.data import regular, wait_ns, wait_share
from stepscope.signals.system.machine_storage import file_reads, loader_file_ns, loading_blocked_ns

_PACK = Action(
    "Pack samples into a few large files, and read these in order",
    before="torch.load(f'samples/{index}.pt')  # in __getitem__, a file per sample",
    after="samples = np.load('samples.npy', mmap_mode='r')  # packed once; or tar shards with webdataset",
    page="data-loading",
)
_NEAR = Action(
    "Copy the data to a local disk, or into memory, before the job",
    before="python train.py --data /shared/train",
    after="cp -r /shared/train /dev/shm/ && python train.py --data /dev/shm/train",
    page="data-loading",
)


#: Kinds of disks on which a read waits long.
_KINDS: Final = {"network": said("network"), "rotational": said("rotational")}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for many small reads behind a wait for batches."""
    if s(wait_share) < limits["min_wait"]:
        return
    reads = s(file_reads)
    small = limits["min_bytes"] <= reads.bytes_per_read <= limits["max_bytes"]
    if reads.per_step < limits["min_reads"] or not small or reads.kept_open > limits["max_kept_open"]:
        return
    known = [ns for ns in (s.maybe(loader_file_ns), s.maybe(loading_blocked_ns)) if ns]
    most = min(max(known), s(wait_ns)) if known else None
    where = listing((_KINDS[kind] for kind in reads.kinds if kind in _KINDS), " and ")
    yield Draft(
        title="The loader reads many small files",
        summary=said(
            "The job makes {per_step:,.0f} reads per step of {bytes_per_read} each, and keeps no data "
            "file open{where}; the step waits {wait} ({wait_share} of it) for its batch.",
            per_step=reads.per_step, bytes_per_read=quantity(reads.bytes_per_read, "bytes"),
            where=said(", on {where} storage", where=where) if where else "", wait=duration(s(wait_ns)),
            wait_share=percent(s(wait_share)),
        ),
        actions=(_PACK, _NEAR),
        change=Change(host=(Scaled(s(regular).events, 0.0),)) if most else None,
        most_ns=most,
        taken_ns=None if most else s(wait_ns),
        waiting=most is None,
        confidence=0.75,
        events=s(regular).events[:20],
        rows=({"table": "machine_use", "where": {"subject": "job"}},),
        numbers={
            "reads_per_step": round(reads.per_step),
            "bytes_per_read": round(reads.bytes_per_read),
            "kept_open": round(reads.kept_open, 2),
            wait_share.name: s(wait_share),
            **limits,
        },
    )  # fmt: skip


RULE = Rule(
    "DAT007",
    "many-small-files",
    thresholds=(
        Threshold("min_wait", 0.01, "share", "What costs less than 1 % of the step is not shown."),
        Threshold("min_reads", 64, "count", "Messages of loader workers take a few reads per batch, files two each."),
        Threshold("min_bytes", 1024, "bytes", "Messages between processes are smaller."),
        Threshold("max_bytes", 65536, "bytes", "Larger reads take about as long as their bytes do on most storage."),
        Threshold("max_kept_open", 0.5, "count", "A file that is read in parts is open at every sample."),
    ),
    check=check,
)
