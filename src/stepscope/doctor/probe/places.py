"""Where a program's data, caches and outputs lie."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from stepscope.doctor.facts import UsedPlace
from stepscope.doctor.machine import Machine

#: Variables that name folders, by their use.
_VARIABLES: Final = {
    "DATA_DIR": "data", "DATA_PATH": "data", "DATASET_DIR": "data", "HF_DATASETS_CACHE": "data", "HF_HOME": "cache",
    "HF_HUB_CACHE": "cache", "TORCH_HOME": "cache", "XDG_CACHE_HOME": "cache", "TMPDIR": "cache",
    "TRITON_CACHE_DIR": "compiled", "TORCHINDUCTOR_CACHE_DIR": "compiled", "CUDA_CACHE_PATH": "compiled",
    "ASCEND_WORK_PATH": "output", "ASCEND_CACHE_PATH": "compiled",
}  # fmt: skip

#: Disks of virtual machines, which say that they rotate whatever is behind them.
_VIRTUAL: Final = ("vd", "xvd")


def facts(machine: Machine) -> dict[str, Any]:
    """Values of `Facts`, by name; without what this machine does not tell."""
    mounts = list(_mounts(machine))
    shared = machine.path("/dev/shm")
    return {
        "places": tuple(_place(machine, use, path, mounts) for use, path in _wanted(machine)) if mounts else None,
        "shared": _size(os.fspath(shared), free=False),
    }


def _wanted(machine: Machine) -> Iterator[tuple[str, str]]:
    """Uses with absolute paths, each path once."""
    seen = set()
    here = _here(machine)
    home = machine.environ.get("HOME")
    asked = [("data", path) for path in (*machine.data, *_arguments(machine))]
    asked += [(use, machine.environ[name]) for name, use in _VARIABLES.items() if machine.environ.get(name)]
    if home and "TRITON_CACHE_DIR" not in machine.environ:
        asked.append(("compiled", f"{home}/.triton"))
    for use, given in [*asked, ("output", here)]:
        path = os.path.normpath(os.path.join(here, given))  # noqa: PTH118 - of another root than this machine's
        if (use, path) not in seen:
            seen.add((use, path))
            yield use, path


def _here(machine: Machine) -> str:
    """The working folder."""
    return os.fspath(machine.environ.get("PWD") or os.getcwd())  # noqa: PTH109 - a text as the others


def _arguments(machine: Machine) -> Iterator[str]:
    """Arguments of the program that are folders or files other than programs."""
    for word in machine.program[1:]:
        value = word.partition("=")[2] if word.startswith("-") else word
        if not value or value.endswith((".py", ".sh", ".yaml", ".yml", ".json", ".toml")):
            continue
        found = machine.path(os.path.join(_here(machine), value))  # noqa: PTH118 - as above
        if found.is_dir() or ("/" in value and found.exists()):
            yield value


def _mounts(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Where each file system is mounted, its type, and its device's numbers."""
    for line in (machine.text("/proc/self/mountinfo") or "").splitlines():
        left, dash, right = line.partition(" - ")
        parts = left.split()
        if dash and len(parts) > 4 and right.split():
            yield parts[4].replace("\\040", " "), right.split()[0], parts[2]


def _place(machine: Machine, use: str, path: str, mounts: list[tuple[str, str, str]]) -> UsedPlace:
    parents = {path, *map(str, PurePosixPath(path).parents)}
    # Of several mounts at one place the last one is seen.
    inside = [
        (len(where), order, kind, device) for order, (where, kind, device) in enumerate(mounts) if where in parents
    ]
    if not inside:
        return UsedPlace(use, path)
    _, _, kind, device = max(inside)
    return UsedPlace(use, path, kind, _rotating(machine, device), _size(_existing(machine, path), free=True))


def _rotating(machine: Machine, device: str) -> bool | None:
    """Whether a disk, or the one that a partition is on, rotates."""
    try:
        disk = machine.path(f"/sys/dev/block/{device}").resolve().name
    except OSError:
        return None
    if disk.startswith(_VIRTUAL):
        return None
    for folder in (f"/sys/dev/block/{device}", f"/sys/dev/block/{device}/.."):
        value = machine.text(f"{folder}/queue/rotational")
        if value is not None:
            return value == "1"
    return None


def _existing(machine: Machine, path: str) -> str:
    """The innermost folder of a path that there is."""
    found = machine.path(path)
    while not found.exists() and found != found.parent:
        found = found.parent
    return os.fspath(found)


def _size(path: str, *, free: bool) -> int | None:
    try:
        told = os.statvfs(path)
    except (OSError, AttributeError):
        return None
    return told.f_frsize * (told.f_bavail if free else told.f_blocks)
