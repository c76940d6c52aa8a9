"""Map PyTorch's categories and names of events to the canonical vocabulary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: Categories of device activity of every generation of the format, with the kind of work if it is fixed.
DEVICE_CATEGORIES: Final[dict[str, str | None]] = {
    "kernel": None,
    "gpu_op": None,
    "hpu_op": None,
    "mtia_ccp_events": None,
    "mtia_workloadd": None,
    "collective_comm": "comm",
    "memcpy": "copy",
    "gpu_memcpy": "copy",
    "memset": "set",
    "gpu_memset": "set",
    "cuda_sync": "sync",
    "cuda_event": "sync",
}

#: All categories of events on a device's queues.
ON_DEVICE: Final = frozenset({*DEVICE_CATEGORIES, "gpu_user_annotation"})

#: Prefix of further such categories, of devices outside PyTorch.
ON_DEVICE_PREFIX: Final = "privateuse1_kernel"

_RUNTIME_CATEGORIES: Final = frozenset({"runtime", "driver", "external_correlation"})
_RUNTIME_SUFFIXES: Final = ("_runtime", "_driver")

_STEP: Final = re.compile(r"ProfilerStep\s*#\s*\d+")
_LOADER: Final = re.compile(r"enumerate\(Data(Loader|Pipe)\)|DataLoader.*__next__|_next_data|DataPipe")
_LAUNCH: Final = re.compile(
    r"launch|memcpy|memset|GraphLaunch|^enqueue|MemPrefetch|^cuMem(cpy|set)|_gif_|urEnqueue|zeCommandListAppend",
    re.I,
)
_SYNC: Final = re.compile(r"synchronize|^(cuda|hip|cu)EventQuery$|urQueueFinish|urEventWait|HostSynchronize", re.I)
_GC: Final = re.compile(r"^(python )?gc\b|garbage.?collect|gc\.collect|<built-in function collect>", re.I)
_DEVICE_WAIT: Final = re.compile(r"event_(wait|record)|barrier_wait|^notif", re.I)
_DEVICE_COPY: Final = re.compile(r"^(dma|memcpy|copy)", re.I)
_DEVICE_SET: Final = re.compile(r"^memset", re.I)

#: The direction of a copy, as a regular expression for Python and SQL.
DIRECTION: Final = r"\b([HDP]to[HDP])\b"
_ENDS: Final = re.compile(r"\((\w+)\s*->\s*(\w+)\)", re.A)
_MEMORY: Final = {
    "pageable": "pageable", "pinned": "pinned", "device": "device", "array": "device", "managed": "managed",
    "unified": "managed",
}  # fmt: skip
_STOPPED: Final = "Record Window End"
_OURS: Final = re.compile(r"(^|/)stepscope/record/((job|steps|inject|ring|triggers)/|(noted|settings)\.py)")


@dataclass(frozen=True, slots=True)
class EventKind:
    """Canonical category of an event; for device work also its kind, None if the kernel's class decides."""

    category: str
    is_work: bool = False
    kind: str | None = None


def direction(name: str) -> str | None:
    """The direction of a copy in its name: `HtoD` in `Memcpy HtoD (Pinned -> Device)`; None if there is none."""
    found = re.search(DIRECTION, name)
    return found.group(1) if found else None


def memory_kinds(name: str) -> tuple[str | None, str | None]:
    """The kinds of memory of a copy's source and target in its name; None where it has none."""
    found = _ENDS.search(name)
    source, target = found.groups() if found else ("", "")
    return _MEMORY.get(source.lower()), _MEMORY.get(target.lower())


def is_on_device(cat: str) -> bool:
    """Whether events of PyTorch's category `cat` (any case) are on a device's queue."""
    key = cat.lower()
    return key in ON_DEVICE or key.startswith(ON_DEVICE_PREFIX)


def is_ours(cat: str, name: str) -> bool:
    """Whether an event is no part of the program: a function of `stepscope record`, or when the recorder had stopped.

    Kineto marks the latter after it has waited for the device and collected its records, up to seconds after the last
    event: taken for an event, it would make the recording that much longer.
    """
    if name == _STOPPED:
        return True
    return _OURS.search(name) is not None and cat.lower() == "python_function"


def event_kind(cat: str, name: str) -> EventKind:
    """The kind of an event with PyTorch's category `cat` (any case, "" if it has none) and `name`."""
    key = cat.lower()
    if key in DEVICE_CATEGORIES or key.startswith(ON_DEVICE_PREFIX):
        return _device(DEVICE_CATEGORIES.get(key), key, name)
    if key == "gpu_user_annotation":
        return EventKind("annotation")
    if key in _RUNTIME_CATEGORIES or key.endswith(_RUNTIME_SUFFIXES):
        return EventKind(_runtime(name))
    return EventKind(_host(key, name))


def _device(kind: str | None, cat: str, name: str) -> EventKind:
    if kind is None and not cat.startswith("kernel"):
        # Accelerators without separate categories for copies and waits distinguish them by name.
        for pattern, guess in ((_DEVICE_WAIT, "sync"), (_DEVICE_COPY, "copy"), (_DEVICE_SET, "set")):
            if pattern.search(name):
                kind = guess
    category = {"comm": "collective", "copy": "copy", "set": "set", "sync": "sync"}.get(kind or "", "kernel")
    return EventKind(category, is_work=True, kind=kind)


def _runtime(name: str) -> str:
    if _SYNC.search(name):
        return "sync"
    return "launch" if _LAUNCH.search(name) else "runtime"


def _host(cat: str, name: str) -> str:
    # ONNX Runtime: an event of the session for each run, and one per node, with what comes before and after it.
    if cat == "node" and name.endswith("_kernel_time"):
        return "op"
    if cat == "session":
        return "annotation"
    if cat in ("cpu_op", "operator"):
        if _STEP.match(name):
            return "step"
        return "dataloader" if _LOADER.search(name) else "op"
    if cat in ("user_annotation", "user_scope", "annotation"):
        if _STEP.match(name):
            return "step"
        if _LOADER.search(name):
            return "dataloader"
        return "gc" if _GC.search(name) else "annotation"
    if cat == "python_function":
        if name.startswith("nn.Module: "):
            return "module"
        return "gc" if _GC.search(name) else "python"
    if cat == "overhead":
        return "overhead"
    return "gc" if _GC.search(name) else "other"
