"""NPUs as `npu-smi info` tells: version of the driver, health, and processes that use them."""

from __future__ import annotations

import re
from typing import Any, Final

from stepscope.doctor.machine import Machine, version, whole

_DRIVER: Final = re.compile(r"npu-smi \S+\s+Version: (\d[\w.]*)")


def facts(machine: Machine) -> dict[str, Any]:
    """Values of `Facts`, by name; without what this machine does not tell."""
    text = machine.run(["npu-smi", "info"])
    if text is None:
        return {}
    found = _DRIVER.search(text)
    health: dict[int, str] = {}
    processes = 0
    for line in text.splitlines():
        # `| 0     910B3  | OK  | 90.5 ... |`, and behind all of these `| 0       0  | 1712733  | python  | 53000 |`.
        cells = [one.strip() for one in line.strip().strip("|").split("|")]
        words = cells[0].split()
        if len(cells) < 3 or len(words) < 2 or not words[0].isdecimal():
            continue
        if whole(cells[1]) is not None:
            processes += 1
        elif not words[1].isdecimal():
            health[int(words[0])] = cells[1]
    return {
        "npu_driver": version(found[1]) if found else None,
        "npu_health": health or None,
        "npu_processes": processes if health else None,
    }
