"""Places of events in a Chrome trace: numbers of processes and threads, and extra threads for overlapping events."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stepscope.model.trace import Trace
from stepscope.reports.exports.lanes import lanes

_NUMBER: Final = re.compile(r"\d{1,9}")
#: Processes and threads whose recorded id is no number, and extra ones, get numbers from here.
_FIRST_FREE: Final = 1_500_000_000
#: Numbers of a rank's processes, in a trace of several ranks.
_PER_RANK: Final = 100_000


@dataclass(frozen=True, slots=True)
class ChromeThread:
    """A thread of the Chrome trace: a track, or one lane of it."""

    pid: int
    tid: int
    name: str
    order: int


@dataclass(frozen=True, slots=True)
class EventPlaces:
    """The process and thread of each event of one rank.

    Attributes:
        threads: All threads.
        processes: Names by number.
        events: Arrow table (id, pid, tid).
        host_pid: The process of events without a track.
    """

    threads: tuple[ChromeThread, ...]
    processes: dict[int, str]
    events: pa.Table
    host_pid: int


def places_of(trace: Trace, *, several: bool) -> EventPlaces:
    """Find a place for every event of the trace of one rank.

    Args:
        trace: The trace.
        several: Whether other ranks go to the same file; recorded process ids may clash then, and are replaced.
    """
    [rank] = trace.ranks
    tracks = {row["track"]: row for row in trace.rows("SELECT * FROM tracks ORDER BY track")}
    numbers = _Numbers(rank * _PER_RANK + 1 if several else None)
    rows = trace.columns(
        "SELECT id, track, ts, ts + coalesce(dur, 0) AS stop, category = 'annotation' AS holds FROM spans "
        "ORDER BY track, ts, dur DESC, depth, id"
    )
    threads: list[ChromeThread] = []
    processes: dict[int, str] = {}
    pid_of = np.zeros(rows["id"].size, np.int64)
    tid_of = np.zeros(rows["id"].size, np.int64)
    edges = np.flatnonzero(np.diff(rows["track"])) + 1
    bounds = [0, *edges.tolist(), rows["id"].size] if rows["id"].size else [0]
    for low, high in pairwise(bounds):
        track = tracks[int(rows["track"][low])]
        device = track["kind"] == "device"
        pid = numbers.process("device" if device else "host", track["device"] if device else track["process"])
        processes[pid] = f"rank {rank} " + (f"device {track['device']}" if device else f"process {track['process']}")
        holds = rows["holds"][low:high] if device else np.ones(high - low, np.bool_)
        lane = lanes(rows["ts"][low:high], rows["stop"][low:high], holds)
        for number in range(int(lane.max()) + 1):
            tid = numbers.thread(pid, (track["stream"] if device else track["thread"]) if number == 0 else None)
            label = track["label"] + (f" ({number + 1})" if number else "")
            threads.append(ChromeThread(pid, tid, label, len(threads)))
            tid_of[low:high][lane == number] = tid
        pid_of[low:high] = pid
    events = pa.table({"id": rows["id"], "pid": pid_of, "tid": tid_of})
    host = next((pid for pid, name in processes.items() if " process " in name), numbers.process("host", None))
    return EventPlaces(tuple(threads), processes, events, host)


class _Numbers:
    """Hands out numbers: the recorded ones where they are numbers and free."""

    def __init__(self, first: int | None) -> None:
        self._next = _FIRST_FREE if first is None else first
        self._keep = first is None
        self._processes: dict[tuple[str, Any], int] = {}
        self._threads: set[tuple[int, int]] = set()

    def process(self, kind: str, recorded: Any) -> int:
        key = (kind, recorded)
        if key not in self._processes:
            text = str(recorded)
            wanted = int(text) if self._keep and _NUMBER.fullmatch(text) else None
            taken = set(self._processes.values())
            self._processes[key] = self._fresh(taken) if wanted is None or wanted in taken else wanted
        return self._processes[key]

    def thread(self, pid: int, recorded: str | None) -> int:
        """A number for a thread; Perfetto takes 0 to be the number of the process, so only one of the two is given."""
        wanted = int(recorded) if recorded is not None and _NUMBER.fullmatch(recorded) else None
        if wanted is None or (pid, wanted or pid) in self._threads:
            wanted = self._fresh({tid for process, tid in self._threads if process == pid})
        self._threads.add((pid, wanted or pid))
        return wanted

    def _fresh(self, taken: set[int]) -> int:
        while self._next in taken:
            self._next += 1
        self._next += 1
        return self._next - 1
