"""CPUs, memory, limits and kernel of a machine on Linux, from /proc and /sys."""

from __future__ import annotations

import math
import re
from typing import Any

from stepscope.doctor.facts import UNLIMITED
from stepscope.doctor.machine import Machine, numbers, version, whole

_NODES = "/sys/devices/system/node"
_CPUS = "/sys/devices/system/cpu"


def facts(machine: Machine) -> dict[str, Any]:
    """Values of `Facts`, by name; without what this machine does not tell."""
    online = numbers(machine.text(f"{_CPUS}/online"))
    return {
        "cpus": len(online) if online else None,
        "allowed": numbers(_after(machine.text("/proc/self/status"), "Cpus_allowed_list:")),
        "nodes": _nodes(machine),
        "governors": _governors(machine),
        "numa_balancing": _switch(machine.text("/proc/sys/kernel/numa_balancing")),
        "huge_pages": _chosen(machine.text("/sys/kernel/mm/transparent_hugepage/enabled")),
        "memory": _kib(machine, "MemTotal:"),
        "swapped": _swapped(machine),
        "limits": _limits(machine.text("/proc/self/limits")),
        "kernel": version(machine.text("/proc/sys/kernel/osrelease")),
        "modules": _modules(machine.text("/proc/modules")),
        "infiniband": _infiniband(machine),
    }


def _after(text: str | None, name: str) -> str | None:
    """What follows a name at the start of a line."""
    found = re.search(rf"^{re.escape(name)}[ \t]*(.*)$", text or "", re.MULTILINE)
    return found[1].strip() if found else None


def _nodes(machine: Machine) -> dict[int, frozenset[int]] | None:
    found = {}
    for name in machine.names(_NODES) or ():
        number = whole(name.removeprefix("node")) if name.startswith("node") else None
        cpus = numbers(machine.text(f"{_NODES}/{name}/cpulist")) if number is not None else None
        if number is not None and cpus:
            found[number] = cpus
    return found or None


def _governors(machine: Machine) -> frozenset[str] | None:
    policies = machine.names(f"{_CPUS}/cpufreq") or []
    found = {machine.text(f"{_CPUS}/cpufreq/{one}/scaling_governor") for one in policies if one.startswith("policy")}
    return frozenset(filter(None, found)) or None


def _switch(text: str | None) -> bool | None:
    return None if text is None else text not in ("", "0")


def _chosen(text: str | None) -> str | None:
    """The choice in brackets, as in `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", text or "")
    return found[1] if found else None


def _kib(machine: Machine, name: str) -> int | None:
    """A line of /proc/meminfo, in bytes."""
    value = whole((_after(machine.text("/proc/meminfo"), name) or "").removesuffix("kB").strip())
    return None if value is None else value * 1024


def _swapped(machine: Machine) -> int | None:
    total, free = _kib(machine, "SwapTotal:"), _kib(machine, "SwapFree:")
    return None if total is None or free is None else total - free


def _limits(text: str | None) -> dict[str, int] | None:
    """Soft limits by name."""
    found = {}
    for line in (text or "").splitlines()[1:]:
        parts = re.split(r"\s{2,}", line.strip())
        value = UNLIMITED if len(parts) > 1 and parts[1] == "unlimited" else whole(parts[1]) if len(parts) > 1 else None
        if value is not None:
            found[parts[0]] = value
    return found or None


def _modules(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(line.split()[0] for line in text.splitlines() if line.split())


def _infiniband(machine: Machine) -> tuple[str, ...] | None:
    """Names of devices; none where a machine has the kernel's classes of devices, but not this one."""
    if machine.names("/sys/class") is None:
        return None
    return tuple(machine.names("/sys/class/infiniband") or ())


def quota(text: str | None) -> float | None:
    """CPUs' worth of time, from `cpu.max`."""
    parts = (text or "").split()
    if not parts:
        return None
    if parts[0] == "max":
        return math.inf
    most, period = whole(parts[0]), whole(parts[1]) if len(parts) > 1 else 100_000
    return most / period if most is not None and period else None
