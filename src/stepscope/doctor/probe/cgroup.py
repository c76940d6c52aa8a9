"""Limits of the control group that this process is in, of version 2 or 1."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

from stepscope.doctor.facts import UNLIMITED
from stepscope.doctor.machine import Machine, whole
from stepscope.doctor.probe.host import quota

_ROOT: Final = "/sys/fs/cgroup"
#: Bytes from which on version 1 means that there is no limit.
_NO_LIMIT: Final = 1 << 60


def facts(machine: Machine) -> dict[str, Any]:
    """Values of `Facts`, by name; without what this machine does not tell."""
    return {**_cpu(machine), **_memory(machine)}


def _folders(machine: Machine, controller: str) -> Iterator[str]:
    """The folders of the group and of those around it, innermost first."""
    for line in (machine.text("/proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        if kinds and controller not in kinds.split(","):
            continue
        root = f"{_ROOT}/{kinds}" if kinds else _ROOT
        while path.strip("/"):
            yield root + path
            path = path.rpartition("/")[0]
    yield _ROOT
    yield f"{_ROOT}/{controller}"


def _cpu(machine: Machine) -> dict[str, Any]:
    quotas, shares = [], []
    for folder in _folders(machine, "cpu"):
        text = machine.text(f"{folder}/cpu.max")
        most, period = machine.number(f"{folder}/cpu.cfs_quota_us"), machine.text(f"{folder}/cpu.cfs_period_us")
        value = quota(text) if text else quota(f"{most} {period}") if most is not None and most > 0 else None
        if value is None and most == -1:
            value = math.inf
        if value is not None:
            quotas.append(value)
        statistics = dict(re.findall(r"^(nr_\w+) (\d+)$", machine.text(f"{folder}/cpu.stat") or "", re.MULTILINE))
        if int(statistics.get("nr_periods", 0)):
            shares.append(int(statistics.get("nr_throttled", 0)) / int(statistics["nr_periods"]))
    # Without any limit no periods are counted.
    unlimited = bool(quotas) and math.isinf(min(quotas))
    return {"cpu_quota": min(quotas, default=None), "throttled": max(shares, default=0.0 if unlimited else None)}


def _memory(machine: Machine) -> dict[str, Any]:
    limit, used, killed = None, None, None
    for folder in _folders(machine, "memory"):
        text = machine.text(f"{folder}/memory.max") or machine.text(f"{folder}/memory.limit_in_bytes")
        value = UNLIMITED if text == "max" else whole(text)
        if value is None:
            continue
        value = UNLIMITED if value >= _NO_LIMIT else value
        if limit in (None, UNLIMITED) or value != UNLIMITED:
            limit = value
            # Files that were read count as used, and give way.
            gross = machine.number(f"{folder}/memory.current") or machine.number(f"{folder}/memory.usage_in_bytes")
            found = re.search(
                r"^(?:total_)?inactive_file (\d+)$", machine.text(f"{folder}/memory.stat") or "", re.MULTILINE
            )
            used = None if gross is None else gross - (int(found[1]) if found else 0)
        events = re.search(r"^oom_kill (\d+)$", machine.text(f"{folder}/memory.events") or "", re.MULTILINE)
        if events and killed is None:
            killed = int(events[1])
        if limit != UNLIMITED:
            break
    return {"memory_limit": limit, "memory_used": used, "killed": killed}
