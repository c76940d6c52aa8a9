"""The processes of a trace, most of which stand for a layer of the software stack."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.store.staging import Staging

#: Role by name. Whatever else is there holds counters, or host threads.
_ROLES: Final = {
    "python": "python",
    "python gc": "python",
    "mindspore": "mindspore",
    "cpu op": "mindspore kernels",
    "cann": "cann",
    "ascend hardware": "hardware",
    "hccl": "comm",
    "communication": "comm",
    "overlap analysis": "overlap",
    # Parts of kernels, by core, and kernels again, by the scopes in their names.
    "block detail": "detail",
    "biu perf": "detail",
    "scope layer": "detail",
}
#: Roles of what the framework's own threads do.
FRAMEWORKS: Final = ("python", "mindspore")
#: Sort index in ids of made-up processes, by role.
_INDEX: Final = {"cann": 7, "hardware": 13, "comm": 15, "overlap": 23}

#: Ids of made-up processes are (id of the operating system << 10) | (sort index << 5) | device.
#: If the profiled process is not named, ids above this are taken for made-up processes.
_MADE_UP: Final = 2**30
_GROUP: Final = re.compile(r"group\s+(\S+)", re.IGNORECASE)
_PLANE: Final = re.compile(r"plane\s+(\d+)", re.IGNORECASE)
_DEVICE: Final = re.compile(r"NPU\s+(\d+)")


@dataclass(slots=True)
class Process:
    """A process of the trace.

    Attributes:
        name: As recorded; empty if it has none.
        role: python, mindspore, mindspore kernels, cann, hardware, comm, overlap, detail or other.
        system: Process id of its threads in the operating system.
        device: Device that it shows; None if unknown.
        threads: Names by thread id.
        lanes: Of a `comm` process, by thread id: name of the group and number of the plane (None for the group's row).
    """

    name: str
    role: str
    system: str
    device: int | None = None
    threads: dict[str, str] = field(default_factory=dict)
    lanes: dict[str, tuple[str, int | None]] = field(default_factory=dict)


def processes(staging: Staging, metadata: list[tuple[str, str, str, str]]) -> dict[str, Process]:
    """All processes by id in the trace, from metadata rows (name, pid, tid, arguments)."""
    values = [(kind, str(pid), str(tid), _value(args)) for kind, pid, tid, args in metadata]
    names = {pid: str(value) for kind, pid, _, value in values if kind == "process_name"}
    labels = {pid: str(value) for kind, pid, _, value in values if kind == "process_labels"}
    known = {pid: _ROLES.get(re.sub(r"\s*\(.*", "", name).strip().lower(), "other") for pid, name in names.items()}
    used = [row[0] for row in staging.connection.execute("SELECT DISTINCT pid FROM ascend_spans").fetchall()]
    used += [row[0] for row in staging.connection.execute("SELECT DISTINCT pid FROM ascend_flows").fetchall()]
    named = {pid for pid, role in known.items() if role in FRAMEWORKS}
    roles = {pid: known.get(pid) or _guess(pid, named) for pid in {*used, *names}}
    system = _system(roles)
    found = {
        pid: Process(
            names.get(pid, ""),
            role,
            _owner(pid, named) if role in FRAMEWORKS else system,
            _device(pid, labels.get(pid, ""), named, role) if role in ("hardware", "comm") else None,
        )
        for pid, role in sorted(roles.items())
    }
    order: dict[tuple[str, str], float] = {}
    for kind, pid, tid, value in values:
        if kind == "thread_name" and pid in found:
            found[pid].threads[tid] = str(value)
        if kind == "thread_sort_index" and isinstance(value, (int, float)):
            order[pid, tid] = value
    for pid, process in found.items():
        if process.role == "comm":
            process.lanes = _lanes(process.threads, {tid: n for (p, tid), n in order.items() if p == pid})
    return found


def _value(args: str) -> Any:
    try:
        value = json.loads(args)
    except ValueError:
        return None
    return next(iter(value.values()), None) if isinstance(value, dict) else None


def _is_made_up(pid: str, python: set[str]) -> bool:
    return pid.isdigit() and len(pid) < 20 and (str(int(pid) >> 10) in python or int(pid) >= _MADE_UP)


def _owner(pid: str, python: set[str]) -> str:
    """The operating system's id of a framework process; garbage collections are shown as a separate process."""
    owner = str(int(pid) >> 10) if pid.isdigit() and len(pid) < 20 else ""
    return owner if owner in python else pid


def _guess(pid: str, python: set[str]) -> str:
    """The role of a process without a name: traces of level 0 name none for CANN."""
    if _is_made_up(pid, python):
        return next((role for role, index in _INDEX.items() if index == int(pid) >> 5 & 31), "other")
    return "python"


def _system(roles: dict[str, str]) -> str:
    """The profiled process's id in the operating system."""
    python = [pid for pid, role in roles.items() if role in FRAMEWORKS]
    if len(python) == 1:
        return python[0]
    made_up = [str(int(pid) >> 10) for pid, role in roles.items() if role not in FRAMEWORKS and pid.isdigit()]
    return next((pid for pid in made_up if pid in python), python[0] if python else next(iter(made_up), ""))


def _device(pid: str, label: str, python: set[str], role: str = "hardware") -> int | None:
    match = _DEVICE.search(label)
    if match:
        return int(match[1])
    # Older versions number processes differently: small ids carry no information. In a container, that of the profiled
    # process may be small, and MindSpore numbers its own process 1.
    if not (pid.isdigit() and len(pid) < 20):
        return None
    shows = int(pid) >> 10 and int(pid) >> 5 & 31 == _INDEX[role]
    return int(pid) & 31 if shows or _is_made_up(pid, python) else None


def device_of_process(pid: str, label: str) -> int | None:
    """The device whose work a process shows, by its id and label; None if they do not tell."""
    return _device(pid, label, set())


def _lanes(threads: dict[str, str], order: dict[str, float]) -> dict[str, tuple[str, int | None]]:
    """Group and plane of each row; planes belong to the group above them."""

    def position(tid: str) -> tuple[float, int]:
        number = int(tid) if tid.isdigit() and len(tid) < 18 else 0
        return order.get(tid, number), number

    lanes: dict[str, tuple[str, int | None]] = {}
    group = "0"
    for tid in sorted(threads, key=position):
        plane = _PLANE.search(threads[tid])
        named = _GROUP.search(threads[tid])
        if plane is None:
            group = named[1] if named else threads[tid]
        lanes[tid] = (group, int(plane[1]) if plane else None)
    return lanes
