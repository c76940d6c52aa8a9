"""What the processes of the job used: processor time, waits for a processor, reads and writes, faults, workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.record.machine.files import Roots, names, numbers, text

#: Threads whose waits for a processor are read: more would make a sample cost more than it tells.
_THREADS: Final = 512
_PROCESSES: Final = 512
#: Counters of /proc/PID/io by name here.
_READS: Final = {"rchar": "read_bytes", "syscr": "reads", "read_bytes": "disk_read_bytes", "wchar": "written_bytes",
                 "syscw": "writes", "write_bytes": "disk_written_bytes"}  # fmt: skip
_SPAWNED: Final = "multiprocessing.spawn"
_HELPERS: Final = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")


@dataclass(slots=True)
class _JobProcess:
    """A process of the job, since it was first seen."""

    parent: int
    command: str
    last: dict[str, int] = field(default_factory=dict)
    threads: dict[str, tuple[int, int]] = field(default_factory=dict)


class JobProcesses:
    """The tree of processes below one, with totals that do not fall when one of them ends.

    Args:
        root: Process id of the program.
        roots: Where the system's files are.
    """

    def __init__(self, root: int, roots: Roots) -> None:
        self._root = root
        self._proc = roots.proc
        self._known: dict[tuple[int, int], _JobProcess] = {}
        self._total: dict[str, int] = {}
        self.pids: list[int] = []
        self.workers: list[int] = []

    def read(self, ranks: frozenset[int]) -> dict[str, Any]:
        """Totals of the job since its start, and those of the main threads of its ranks.

        Args:
            ranks: Process ids of ranks, as far as they are known.
        """
        now: dict[str, int] = {"processes": 0, "threads": 0, "workers": 0, "resident": 0, "blocked": 0}
        mains: dict[str, list[int]] = {}
        left, self.pids, self.workers = _THREADS, [], []
        tree = list(self._tree())
        self._credit({(pid, int(stat[19])) for pid, stat in tree})
        for pid, stat in tree:
            key = (pid, int(stat[19]))
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = _JobProcess(int(stat[1]), self._command(pid))
            self.pids.append(pid)
            now["processes"] += 1
            now["threads"] += int(stat[17])
            now["resident"] += int(stat[21])
            now["blocked"] += stat[0] == "D"
            if self._is_worker(known):
                now["workers"] += 1
                self.workers.append(pid)
            self._add(known, {"faults": int(stat[9]), **self._counters(pid)})
            threads = self._threads(pid, left)
            left -= len(threads)
            self._add_threads(known, threads)
            if pid in ranks and str(pid) in threads:
                mains[str(pid)] = list(threads[str(pid)])
        return {**now, **self._total, "ranks": mains}

    def _tree(self) -> Iterator[tuple[int, list[str]]]:
        """The processes below the root and it itself, each with its fields from the state on."""
        waiting, seen = [self._root], 0
        while waiting and seen < _PROCESSES:
            pid = waiting.pop()
            # The name, in parentheses, may hold anything.
            stat = text(f"{self._proc}/{pid}/stat").rpartition(")")[2].split()
            if len(stat) < 22:
                continue
            seen += 1
            yield pid, stat
            for thread in names(f"{self._proc}/{pid}/task")[:_THREADS]:
                waiting += numbers(f"{self._proc}/{pid}/task/{thread}/children")

    def _command(self, pid: int) -> str:
        return text(f"{self._proc}/{pid}/cmdline").replace("\0", " ").strip()

    def _is_worker(self, one: _JobProcess) -> bool:
        """Whether multiprocessing started it: a fork runs its parent's command."""
        if _SPAWNED in one.command:
            return True
        parent = next((known for (pid, _), known in self._known.items() if pid == one.parent), None)
        return (
            parent is not None
            and bool(one.command)
            and parent.command == one.command
            and not any(name in one.command for name in _HELPERS)
        )

    def _counters(self, pid: int) -> dict[str, int]:
        found = {}
        for line in text(f"{self._proc}/{pid}/io").splitlines():
            name, _, value = line.partition(": ")
            if name in _READS:
                found[_READS[name]] = int(value)
        return found

    def _threads(self, pid: int, most: int) -> dict[str, tuple[int, int]]:
        """By thread, ns on a processor and ns ready to run without one (Documentation/scheduler/sched-stats.rst)."""
        found = {}
        for thread in names(f"{self._proc}/{pid}/task")[:most]:
            value = numbers(f"{self._proc}/{pid}/task/{thread}/schedstat")
            if len(value) >= 2:
                found[thread] = (value[0], value[1])
        return found

    def _credit(self, there: set[tuple[int, int]]) -> None:
        """Linux adds the reads and writes of a process that ended to its parent's: they are in the totals already."""
        parents = {pid: self._known[pid, started] for pid, started in there if (pid, started) in self._known}
        for key, known in self._known.items():
            parent = parents.get(known.parent)
            if key not in there and parent is not None and known.last:
                for name in _READS.values():
                    parent.last[name] = parent.last.get(name, 0) + known.last.get(name, 0)
                known.last = {}

    def _add(self, known: _JobProcess, counters: dict[str, int]) -> None:
        for name, value in counters.items():
            # A child begins with its own counters, at 0.
            self._total[name] = self._total.get(name, 0) + max(value - known.last.get(name, 0), 0)
        known.last.update(counters)

    def _add_threads(self, known: _JobProcess, threads: dict[str, tuple[int, int]]) -> None:
        for thread, (ran, waited) in threads.items():
            before = known.threads.get(thread, (0, 0))
            self._total["ran_ns"] = self._total.get("ran_ns", 0) + max(ran - before[0], 0)
            self._total["waited_ns"] = self._total.get("waited_ns", 0) + max(waited - before[1], 0)
        known.threads = threads
