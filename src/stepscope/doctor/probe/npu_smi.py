"""NPUs as `npu-smi info` tells: version of the driver, health, and processes that use them; and where CANN is."""

from __future__ import annotations

import re
from typing import Any, Final

from stepscope.doctor.machine import Machine, version, whole

#: What the driver's installer writes, and where CANN's environment says that it is.
_INSTALLED: Final = "/usr/local/Ascend/driver/version.info"
_HOMES: Final = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_DRIVER: Final = re.compile(r"npu-smi \S+\s+Version: (\d[\w.]*)")


def facts(machine: Machine) -> dict[str, Any]:
    """Values of `Facts`, by name; without what this machine does not tell."""
    text = machine.run(["npu-smi", "info"])
    missing = [name for name in _HOMES if machine.environ.get(name) and machine.names(machine.environ[name]) is None]
    homes: dict[str, Any] = {"cann_missing": tuple(missing)}
    if text is None:
        installed = re.search(r"^Version=(.*)$", machine.text(_INSTALLED) or "", re.MULTILINE)
        return {**homes, "npu_driver": version(installed[1])} if installed else homes
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
        **homes,
        "npu_driver": version(found[1]) if found else None,
        "npu_health": health or None,
        "npu_processes": processes if health else None,
    }
