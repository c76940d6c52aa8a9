"""Recordings with other names, numbers and orders, which mean nothing."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

from bench.kineto_json import Event
from bench.recordings.variants.ascend import AscendRecording
from bench.recordings.variants.kineto import KinetoRecording, category, is_mark, on_device, track
from bench.recordings.variants.nsight import NsightRecording
from bench.recordings.variants.recording import NotApplicableError, Recording
from bench.recordings.variants.snapshot import SnapshotRecording

Change = Callable[[Recording], None]

_SEED: Final = 12


def unchanged(recording: Recording) -> None:
    """The file has another name, and lies open."""
    del recording


def shuffled(recording: Recording) -> None:
    """Events come in another order."""
    chance = random.Random(_SEED)
    if isinstance(recording, KinetoRecording):
        for timeline in recording.files.values():
            chance.shuffle(timeline.events)
    elif isinstance(recording, NsightRecording):
        for name in recording.tables:
            _shuffle_rows(recording.database, name)
    elif isinstance(recording, AscendRecording):
        # The first line names the columns.
        for path in recording.found("kernel_details.csv", "operator_details.csv"):
            head, *rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
            if sum(row.count('"') % 2 for row in rows):
                continue  # rows of several lines
            chance.shuffle(rows)
            path.write_text(head + "".join(rows), encoding="utf-8")
    else:
        raise NotApplicableError


def _shuffle_rows(database: sqlite3.Connection, name: str) -> None:
    rows = database.execute(f'SELECT * FROM "{name}"').fetchall()
    random.Random(_SEED).shuffle(rows)
    database.execute(f'DELETE FROM "{name}"')
    database.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(rows[0]))})', rows)


def other_threads(recording: Recording) -> None:
    """Processes and threads have other numbers."""
    if isinstance(recording, KinetoRecording):
        for timeline in recording.files.values():
            queues = {track(event) for event in timeline.timed if on_device(event)}
            devices = {pid for pid, _ in queues}
            for event in timeline.events:
                if event.get("pid") not in devices and track(event) not in queues:
                    event["pid"], event["tid"] = _more(event.get("pid"), 70_000), _more(event.get("tid"), 900_000)
    elif isinstance(recording, NsightRecording):
        # Process in bits 24 to 47, thread in bits 0 to 23: both move, threads stay in their process.
        for name, columns in recording.tables.items():
            for column in ("globalTid", "globalPid"):
                if column in columns:
                    thread = 4 if column == "globalTid" else 0
                    recording.database.execute(f'UPDATE "{name}" SET {column} = {column} + {(3 << 24) + thread}')
        for name, column, step in (("PROCESSES", "globalPid", 3 << 24), ("ThreadNames", "globalTid", (3 << 24) + 4)):
            if recording.database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
                recording.database.execute(f'UPDATE "{name}" SET {column} = {column} + {step}')
    else:
        raise NotApplicableError


def _more(value: Any, number: int) -> Any:
    return value + number if isinstance(value, int) and value >= 0 else value


def other_streams(recording: Recording) -> None:
    """Streams of the device have other numbers."""
    if isinstance(recording, KinetoRecording):
        for timeline in recording.files.values():
            queues = {track(event) for event in timeline.timed if on_device(event)}
            for event in timeline.events:
                _move_stream(event, track(event) in queues)
    elif isinstance(recording, NsightRecording):
        for name, columns in recording.tables.items():
            if "streamId" in columns:
                recording.database.execute(f'UPDATE "{name}" SET streamId = streamId + 40 WHERE streamId > 0')
    else:
        raise NotApplicableError


def _move_stream(event: Event, on_queue: bool) -> None:
    if on_queue:
        event["tid"] = _more(event.get("tid"), 40)
    args = event.get("args") or {}
    for key in ("stream", "wait_on_stream"):
        if key in args:
            args[key] = _more(args[key], 40)
    if on_queue and isinstance(args.get("name"), str):
        args["name"] = re.sub(r"stream (\d+)", lambda found: f"stream {int(found[1]) + 40}", args["name"])


def other_steps(recording: Recording) -> None:
    """Steps are counted from a hundred more."""
    if not isinstance(recording, KinetoRecording) or not recording.steps():
        raise NotApplicableError
    for event in recording.events():
        if is_mark(event):
            event["name"] = re.sub(r"\d+", lambda found: str(int(found[0]) + 100), event["name"])


#: Ranges that PyTorch itself opens: their names are the evidence.
_OF_PYTORCH: Final = re.compile(
    r"ProfilerStep|Optimizer|DataLoader|DataPipe|DistributedDataParallel|FSDP|nccl|gloo|hccl|record_param_comms|"
    r"dynamo|inductor|compile|pytorch|torch|PT2|Lazy|## ",
    re.IGNORECASE,
)


def other_ranges(recording: Recording) -> None:
    """Ranges of the program have names in another language."""
    if not isinstance(recording, KinetoRecording):
        raise NotApplicableError
    changed = False
    for event in recording.events():
        if category(event) in ("user_annotation", "gpu_user_annotation") and not _OF_PYTORCH.search(str(event["name"])):
            event["name"] = "zona " + "".join(chr(97 + int(digit)) for digit in str(crc32(event["name"].encode())))
            changed = True
    if not changed:
        raise NotApplicableError


def without_thread_names(recording: Recording) -> None:
    """Neither threads nor processes are named."""
    if isinstance(recording, KinetoRecording):
        recording.keep(
            event.get("ph") != "M" for timeline in [*recording.files.values()] for event in [*timeline.events]
        )
    elif isinstance(recording, NsightRecording):
        recording.database.execute("DROP TABLE IF EXISTS ThreadNames")
    else:
        raise NotApplicableError


def other_addresses(recording: Recording) -> None:
    """Memory lies elsewhere."""
    if not isinstance(recording, SnapshotRecording):
        raise NotApplicableError
    step = 1 << 33
    for history in recording.histories:
        for entry in history:
            if entry.get("action") not in ("oom", "snapshot") and "addr" in entry:
                entry["addr"] += step
    for segment in recording.content.get("segments", []):
        segment["address"] += step
        for block in segment.get("blocks", []):
            if "address" in block:
                block["address"] += step
            for former in block.get("history", []):
                if "addr" in former:
                    former["addr"] += step


NAMES: Final[dict[str, Change]] = {
    "another file name": unchanged,
    "shuffled": shuffled,
    "other processes and threads": other_threads,
    "other streams": other_streams,
    "other numbers of steps": other_steps,
    "without names of threads": without_thread_names,
    "other addresses": other_addresses,
}
