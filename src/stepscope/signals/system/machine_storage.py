"""Where the job reads from, how, and what of its waits for batches that explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.analyses.shared.machine_samples import MachineSeries
from stepscope.language import said
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.signals.data.data import in_process, regular, wait_ns
from stepscope.signals.shared.job import recorded_steps, step_ns
from stepscope.signals.signal import Signals, signal
from stepscope.signals.system.machine import processors, samples
from stepscope.signals.system.system import python_reads

_FILES: Final = "files on "
_STORAGES_SQL: Final = "SELECT mount, kind, disk FROM storages ORDER BY mount"
_READS_SQL: Final = """
SELECT ts, ts + dur AS stop FROM spans WHERE category = 'python' AND dur > 0 AND name_id IN (SELECT unnest($ids))
ORDER BY ts
"""


@dataclass(frozen=True, slots=True)
class FileReads:
    """How the job reads while its steps run; means.

    Attributes:
        per_step: Calls that read, per step.
        bytes_per_read: Bytes that each reads.
        kept_open: Data files that stay open from one sample to the next.
        kinds: Kinds of storage on which data files were open.
    """

    per_step: float
    bytes_per_read: float
    kept_open: float
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DiskUse:
    """The busiest disk with data files of the job; means.

    Attributes:
        name: Its name.
        mount: Where it is mounted.
        kind: solid state, rotational or unknown.
        busy: Share of the time in which it was in use.
        rate: Bytes per second read from it and written to it.
        job_share: Part of these that the job read.
        queue: Requests at a time.
        read_ns: Time per read; None if there was none.
    """

    name: str
    mount: str
    kind: str
    busy: float
    rate: float
    job_share: float
    queue: float
    read_ns: float | None


@signal()
def file_reads(s: Signals) -> FileReads:
    """Reads per step, their size, and whether files stay open."""
    found = s(samples)
    rate, size = found.mean("job", "reads"), found.mean("job", "read")
    if rate is None or size is None:
        raise MissingInputError.of("machine")
    kinds = tuple(dict.fromkeys(row["kind"] for row in s.whole.trace.rows(_STORAGES_SQL)))
    return FileReads(rate * s(step_ns) / 1e9, size / rate if rate else 0.0, _kept_open(found), kinds)


def _kept_open(found: MachineSeries) -> float:
    """Sightings of a file that had been seen open before, per sample."""
    again = 0.0
    for mount in found.subjects(_FILES):
        seen, different = found.of(mount, "seen open"), found.of(mount, "different")
        if seen.size and seen.size == different.size:
            again += max(float((seen[-1] - seen[0]) - (different[-1] - different[0])), 0.0)
    return again / max(found.samples - 1, 1)


@signal()
def data_disk(s: Signals) -> DiskUse:
    """The busiest disk with data files of the job."""
    found = s(samples)
    read = found.mean("job", "read from disks") or 0.0
    disks = []
    for row in s.whole.trace.rows(_STORAGES_SQL):
        name = said("disk {disk}", disk=row["disk"])
        busy = found.mean(name, "busy")
        if busy is not None:
            rate = sum(found.mean(name, way) or 0.0 for way in ("read", "written"))
            share = min(read / rate, 1.0) if rate else 0.0
            disks.append(
                DiskUse(
                    row["disk"], row["mount"], row["kind"], busy, rate, share, found.mean(name, "queue") or 0.0,
                    found.mean(name, "time per read"),
                )
            )  # fmt: skip
    if not disks:
        raise MissingInputError.of("machine")
    return max(disks, key=lambda one: (one.busy, one.name))


@signal("ns")
def loader_file_ns(s: Signals) -> int:
    """Time per step within waits for batches in which Python functions open or read files, ns."""
    ids = list(python_reads(s))
    if not ids or not s(in_process):
        raise MissingInputError.of("stacks")
    rows, waits = s.trace.columns(_READS_SQL, {"ids": ids}), s(regular)
    inside = Intervals.union_of(rows["ts"], rows["stop"]) & Intervals.union_of(waits.ts, waits.ts + waits.dur)
    return inside.total // s(recorded_steps)


@signal("ns")
def loading_blocked_ns(s: Signals) -> int:
    """Part of the wait for batches in which who loads them waits for something else than a processor, ns per step."""
    use = s(processors)
    if use.blocked is None or use.main is None or use.main_waiting is None:
        raise MissingInputError.of("machine")
    if s(in_process):
        return min(round(use.blocked * s(step_ns)), s(wait_ns))
    if s(in_process) is None or not use.workers:
        raise MissingInputError.of("loader")
    working = use.job + use.waiting - use.main - use.main_waiting
    return round(s(wait_ns) * min(max(1.0 - working / use.workers, 0.0), 1.0))
