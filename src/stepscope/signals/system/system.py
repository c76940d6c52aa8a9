"""Operating-system view of the launching threads: off-processor time and blocking calls."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared import host_states as states
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.recorded_events import names_of
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, named
from stepscope.model.intervals import Intervals, Times
from stepscope.signals.host.host import line
from stepscope.signals.shared.job import recorded_steps, step_ns
from stepscope.signals.signal import Signals, signal

#: Calls that read files, and calls that wait for other threads, processes or the network.
_READS: Final = ("read", "pread", "pread64", "readv", "fread", "getc", "fgets", "open", "open64", "openat", "fopen",
                 "fopen64", "fsync", "fdatasync")  # fmt: skip
_WAITS: Final = ("poll", "ppoll", "select", "epoll_wait", "epoll_pwait", "futex", "pthread_cond_wait",
                 "pthread_cond_timedwait", "pthread_mutex_lock", "pthread_join", "pthread_rwlock_rdlock",
                 "pthread_rwlock_wrlock", "sem_wait", "sem_timedwait", "nanosleep", "clock_nanosleep", "usleep",
                 "sleep", "recv", "recvmsg", "recvfrom", "accept", "wait4", "waitpid", "sched_yield")  # fmt: skip
#: Any of these shows that calls of the operating system are recorded.
_ANY: Final = (*_READS, *_WAITS, "write", "ioctl", "mmap", "munmap", "pthread_create", "pthread_cond_signal")

#: Python's functions that read or open files, with what they are functions of: `read`, `_io.FileIO`.
_PYTHON_READS: Final = re.compile(
    r"<built-in method (read|readinto|readinto1|readline|readlines|readall|read1|peek) of "
    r"(_io\.(?:FileIO|Buffered\w+|TextIOWrapper))\b"
    r"|<built-in (?:function|method) (open|open_code|fromfile|pread|fsync|fdatasync)(?:>| of (?:posix|_?io|numpy)\b)"
)

#: Python reads modules when they are first used, which no later step does again.
_IMPORTS: Final = re.compile(r"^<frozen importlib\._bootstrap(_external)?>")

_CALLS_SQL: Final = """
SELECT s.id, s.ts, s.ts + s.dur AS stop, n.name FROM spans s JOIN names n USING (name_id)
WHERE s.category = 'other' AND s.dur > 0 AND s.track = $track AND n.name IN (SELECT unnest($names)) ORDER BY s.ts
"""
_FUNCTIONS_SQL: Final = """
SELECT s.ts, s.ts + s.dur AS stop, s.name_id FROM spans s
WHERE s.category = 'python' AND s.dur > 0 AND s.step IS NOT NULL AND s.name_id IN (SELECT unnest($ids))
    AND s.track IN (SELECT track FROM spans WHERE category = 'step') ORDER BY s.ts
"""
_LOADER_SQL: Final = "SELECT ts, ts + dur AS stop FROM spans WHERE category = 'dataloader' AND dur > 0 ORDER BY ts"
_DEVICE_SQL: Final = "SELECT EXISTS (FROM kernels) AS found"
_ON_CPU_SQL: Final = """
SELECT c.ts, c.value FROM counters c JOIN tracks t USING (track) JOIN tracks h ON h.track = $track
WHERE c.name = 'on CPU' AND t.process = h.process AND t.thread = 'thread ' || h.thread || ' on CPU' ORDER BY c.ts
"""


@signal()
def waiting(s: Signals) -> Intervals:
    """Idle time of a device in which no launching thread did anything that the recorded host events explain."""
    starts, ends = s(line).of(states.OP, states.PYTHON, states.OTHER)
    idle = Intervals.union_of(starts, ends)
    for device in s.trace.once(device_times):
        idle = idle - device.busy
    return idle


@signal()
def reading(s: Signals) -> Intervals:
    """Part of that time in which the main thread was in calls that read or write files; without a device, all of it."""
    calls = _calls(s, _READS) - _imports(s)
    if not s.trace.columns(_DEVICE_SQL)["found"].any():
        loader = s.trace.columns(_LOADER_SQL)
        return calls - Intervals.union_of(loader["ts"], loader["stop"])
    return s(waiting) & calls


@signal()
def blocked(s: Signals) -> Intervals:
    """Part of that time in which the main thread waited for other threads, processes or the network."""
    calls = _calls(s, _WAITS)
    return s(waiting) & Intervals.union_of(*s(line).of(states.PYTHON, states.OTHER)) & calls


@signal()
def preempted(s: Signals) -> Intervals:
    """Part of that time in which the main thread was off the processor, outside calls that wait.

    Where states of threads are recorded, only when it could have run.
    """
    off = _off_cpu(s, s(readiness_known))
    return (s(waiting) & off) - _calls(s, _ANY)


@signal()
def readiness_known(s: Signals) -> bool:
    """Whether it is recorded of threads without a processor that they could have run: exports of Linux don't say."""
    return bool(s.trace.scalar("SELECT count(*) FROM counters WHERE name = 'on CPU' AND value < 0"))


@signal("share")
def reading_share(s: Signals) -> float:
    """Idle time of the device in which the main thread reads or writes files, as a share of the step."""
    return _share(s, s(reading))


@signal("share")
def blocked_share(s: Signals) -> float:
    """Idle time of the device in which the main thread waits for others, as a share of the step."""
    return _share(s, s(blocked))


@signal("share")
def preempted_share(s: Signals) -> float:
    """Idle time of the device in which the main thread has no processor, as a share of the step."""
    return _share(s, s(preempted))


@signal()
def blocking_calls(s: Signals) -> tuple[str, ...]:
    """Operating-system calls in which the main thread spends most of that time, the longest first."""
    return _names(s, s(blocked), _WAITS)


@signal()
def reading_calls(s: Signals) -> tuple[str, ...]:
    """Calls that read or write files in which the main thread spends most of that time, the longest first."""
    return _names(s, s(reading), _READS)


def longest(found: Intervals, most: int = 10) -> tuple[tuple[int, int], ...]:
    """The longest ones."""
    order = np.argsort(found.starts - found.ends, kind="stable")[:most]
    return tuple(zip(found.starts[order].tolist(), found.ends[order].tolist(), strict=True))


def _share(s: Signals, found: Intervals) -> float:
    return found.total / s(recorded_steps) / s(step_ns)


def _main(s: Signals) -> int:
    hosts = s.trace.once(states.host_states)
    if hosts is None:
        raise MissingInputError("the recording has no host threads", hint="record the host as well as the device")
    return hosts.feeders[0]


def _rows(s: Signals, names: tuple[str, ...]) -> tuple[Times, Times, NDArray[np.object_]]:
    python = python_reads(s) if names == _READS else {}
    if python:
        rows = s.trace.columns(_FUNCTIONS_SQL, {"ids": list(python)})
        return rows["ts"], rows["stop"], np.array([python[one] for one in rows["name_id"].tolist()], object)
    if set(_ANY).isdisjoint(name for _, name in names_of(s.trace, ("other",))):
        raise MissingInputError.of("os_calls")
    rows = s.trace.columns(_CALLS_SQL, {"track": _main(s), "names": list(names)})
    return rows["ts"], rows["stop"], rows["name"]


def python_reads(s: Signals) -> dict[int, str]:
    """Python functions that read or open files, by number of their name; none where the system's calls are recorded."""
    if not set(_ANY).isdisjoint(name for _, name in names_of(s.trace, ("other",))):
        return {}
    found = ((one, _PYTHON_READS.search(name)) for one, name in names_of(s.trace, ("python",)))
    return {one: ".".join(filter(None, reversed(match.groups()))) for one, match in found if match}


def _calls(s: Signals, names: tuple[str, ...]) -> Intervals:
    starts, ends, _ = _rows(s, names)
    return Intervals.union_of(starts, ends)


def _imports(s: Signals) -> Intervals:
    """When Python imported modules."""
    spans = Spans(s.trace)
    at = np.flatnonzero(spans.of("python") & named(s.trace, _IMPORTS.search))
    return Intervals.union_of(spans.ts[at], spans.ts[at] + np.maximum(spans.dur[at], 0))


def _names(s: Signals, found: Intervals, names: tuple[str, ...]) -> tuple[str, ...]:
    starts, ends, name = _rows(s, names)
    covered = found.within(starts, ends)
    distinct, index = np.unique(name.astype(str), return_inverse=True)
    total = np.bincount(index, covered, distinct.size) if distinct.size else np.zeros(0)
    order = np.argsort(-total, kind="stable")
    return tuple(str(distinct[one]) for one in order.tolist() if total[one] > 0)[:2]


def _off_cpu(s: Signals, ready: bool) -> Intervals:
    """When the main thread was on no processor, or `ready` and on none, from context-switch samples."""
    switches = s.trace.scalar("SELECT count(*) FROM counters WHERE name = 'on CPU'")
    rows = s.trace.columns(_ON_CPU_SQL, {"track": _main(s)}) if switches else {"ts": np.zeros(0, np.int64)}
    if not rows["ts"].size:
        raise MissingInputError.of("switches")
    state = rows["value"][:-1]
    out = np.flatnonzero(state < 0 if ready else state <= 0)
    return Intervals.union_of(rows["ts"][out], rows["ts"][out + 1])
