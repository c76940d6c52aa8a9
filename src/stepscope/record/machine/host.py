"""Counters of the whole machine: processors, memory, disks, network, and what waited for them.

Formats: proc(5), Documentation/admin-guide/iostats.rst, Documentation/accounting/psi.rst and
Documentation/admin-guide/cgroup-v2.rst of Linux.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final

from stepscope.record.machine.files import Roots, names, numbers, text

_SECTOR: Final = 512
#: Block devices without a disk of their own.
_NO_DISKS: Final = re.compile(r"(loop|ram|zram|fd|sr)\d+|nbd\d+")
_MEMORY: Final = {"MemAvailable": "available", "Cached": "cached", "Dirty": "dirty", "SwapFree": "swap_free"}
_PRESSURE: Final = re.compile(r"^(some|full) .*total=(\d+)", re.MULTILINE)


class Host:
    """What is read of the machine.

    Args:
        roots: Where its files are.
    """

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._disks = [name for name in names(f"{roots.sys}/block") if not _NO_DISKS.fullmatch(name)]
        adapters = f"{roots.sys}/class/infiniband"
        self._ports = [
            (f"{adapter}:{port}", f"{adapters}/{adapter}/ports/{port}/counters")
            for adapter in names(adapters) for port in names(f"{adapters}/{adapter}/ports")
        ]  # fmt: skip
        groups = (f"{roots.sys}/fs/cgroup/cpu.stat", f"{roots.sys}/fs/cgroup/cpu/cpu.stat")
        self._group = next((path for path in groups if text(path)), "")

    def nodes(self) -> dict[str, str]:
        """Cores of each NUMA node, as Linux lists them: `0-15,32-47`."""
        folder = f"{self._roots.sys}/devices/system/node"
        return {
            name[4:]: text(f"{folder}/{name}/cpulist").strip()
            for name in names(folder) if re.fullmatch(r"node\d+", name)
        }  # fmt: skip

    def quota(self) -> float | None:
        """Processors that the container may use at a time; None for all."""
        group = f"{self._roots.sys}/fs/cgroup"
        given = text(f"{group}/cpu.max").split() or [
            text(f"{group}/cpu/cpu.cfs_quota_us").strip(), text(f"{group}/cpu/cpu.cfs_period_us").strip(),
        ]  # fmt: skip
        if len(given) == 2 and all(part.isdecimal() and int(part) for part in given):
            return int(given[0]) / int(given[1])
        return None

    def read(self) -> dict[str, Any]:
        """All counters, each since the system started; memory as it is now."""
        return {**self._processors(), "memory": self._memory(), "disks": self._disk_counters(),
                "network": self._network(), "pressure": self._pressure(), "throttled": self._throttled()}  # fmt: skip

    def _processors(self) -> dict[str, Any]:
        """By core the ticks in use, waiting for a disk, and taken by other virtual machines; threads now."""
        cores: dict[str, list[int]] = {}
        threads = {}
        for line in text(f"{self._roots.proc}/stat").splitlines():
            name, *values = line.split()
            if name.startswith("cpu") and name[3:].isdecimal() and len(values) >= 8:
                user, nice, system, _, waiting, interrupts, soft, stolen = map(int, values[:8])
                cores[name[3:]] = [user + nice + system + interrupts + soft, waiting, stolen]
            elif name in ("procs_running", "procs_blocked"):
                threads[name[6:]] = int(values[0])
        return {"cores": cores, "threads": threads}

    def _memory(self) -> dict[str, int]:
        found = {}
        for line in text(f"{self._roots.proc}/meminfo").splitlines():
            name, _, rest = line.partition(":")
            if name in _MEMORY:
                found[_MEMORY[name]] = int(rest.split()[0]) * 1024
        for line in text(f"{self._roots.proc}/vmstat").splitlines():
            if line.startswith("pgmajfault "):
                found["major_faults"] = int(line.split()[1])
        return found

    def _disk_counters(self) -> dict[str, list[int]]:
        """By disk: reads, bytes read, ms of reads, writes, bytes written, ms of writes, ms in use."""
        found = {}
        for name in self._disks:
            value = numbers(f"{self._roots.sys}/block/{name}/stat")
            if len(value) >= 10:
                found[name] = [value[0], value[2] * _SECTOR, value[3], value[4], value[6] * _SECTOR, value[7], value[9]]
        return found

    def _network(self) -> dict[str, list[int]]:
        """By interface: bytes received, packets dropped, bytes sent."""
        found = {}
        for line in text(f"{self._roots.proc}/net/dev").splitlines()[2:]:
            name, _, rest = line.partition(":")
            values = rest.split()
            if name.strip() != "lo" and len(values) >= 9:
                found[name.strip()] = [int(values[0]), int(values[3]), int(values[8])]
        for name, folder in self._ports:
            received, sent = (numbers(f"{folder}/port_{way}_data") for way in ("rcv", "xmit"))
            if received and sent:
                # Counted in units of four bytes.
                found[name] = [4 * received[0], 0, 4 * sent[0]]
        return found

    def _pressure(self) -> dict[str, int]:
        """Microseconds in which some (for disks: or all) threads waited for a processor, a disk or memory."""
        found = {}
        for name in ("cpu", "io", "memory"):
            for kind, total in _PRESSURE.findall(text(f"{self._roots.proc}/pressure/{name}")):
                if kind == "some" or name == "io":
                    found[name if kind == "some" else f"{name}_full"] = int(total)
        return found

    def _throttled(self) -> int | None:
        """Microseconds in which the container had used up its processor time; None if that is not counted."""
        for line in text(self._group).splitlines() if self._group else ():
            name, _, value = line.partition(" ")
            if name in ("throttled_usec", "throttled_time"):
                return int(value) // (1 if name == "throttled_usec" else 1000)
        return None


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
