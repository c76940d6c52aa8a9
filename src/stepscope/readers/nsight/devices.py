"""Identify the GPUs of a recording.

A process numbers its visible devices from 0, so two processes may use the same number for different GPUs, or different
numbers for one GPU. Newer recordings map each process's numbers to GPUs.
"""

from __future__ import annotations

from typing import Any, Final

from stepscope.readers.nsight.tables import Tables, records
from stepscope.readers.sqlite.columns import Columns
from stepscope.store.staging import Staging

_GPU: Final = Columns(
    ints=(
        "id", "cuDevice", "deviceId", "totalMemory", "smCount", "maxWarpsPerSm", "threadsPerWarp", "maxRegistersPerSm",
        "maxShmemPerSm", "computeMajor", "computeMinor", "smMajor", "smMinor", "clockRate", "memoryBandwidth",
    ),
    texts=("name", "uuid"),
)  # fmt: skip
_CUDA_DEVICE: Final = Columns(ints=("gpuId", "cudaId", "pid"), texts=("uuid",))
#: The details of a GPU up to 2020, named as in CUPTI's device record.
_CUDA_GPU: Final = Columns(
    ints=(
        "deviceId", "numMultiprocessors", "globalMemorySize", "computeCapabilityMajor", "computeCapabilityMinor",
        "maxWarpsPerMultiprocessor", "numThreadsPerWarp", "maxRegistersPerMultiprocessor",
        "maxSharedMemoryPerMultiprocessor", "coreClockRate", "globalMemoryBandwidth",
    ),
    texts=("name",),
)  # fmt: skip
#: They give memory in MiB, clock in kHz and bandwidth in kB/s; a value below this many bytes must be in MiB.
_LEAST_BYTES: Final = 1 << 26


class Devices:
    """Numbers of a recording's devices, one per GPU where GPUs can be distinguished."""

    def __init__(self, tables: Tables) -> None:
        self._gpus = [gpu for gpu in records(tables, "TARGET_INFO_GPU", _GPU) if gpu["smCount"] != 0]
        self._old = {gpu["deviceId"]: gpu for gpu in records(tables, "TARGET_INFO_CUDA_GPU", _CUDA_GPU)}
        listed = records(tables, "TARGET_INFO_CUDA_DEVICE", _CUDA_DEVICE)
        self._physical = {(row["pid"], row["cudaId"]): row["gpuId"] for row in listed if row["gpuId"] is not None}
        self._numbers: dict[tuple[int, int], int] = {}
        self._taken: dict[int, tuple[int, int]] = {}

    def number(self, pid: int, device: int) -> int:
        """The device's number in the tables for a process's own number: the same, unless another GPU has it."""
        key = (pid, device)
        if key not in self._numbers:
            same = next((n for n, other in self._taken.items() if self._is_same(key, other)), None)
            if same is None:
                free = device if 0 <= device < 2**31 else 0
                while free in self._taken:
                    free += 1
                self._taken[free] = key
                same = free
            self._numbers[key] = same
        return self._numbers[key]

    @property
    def processes(self) -> set[int]:
        """Ids of the processes that use a device."""
        return {pid for pid, _ in self._numbers}

    def sampled(self, gpu: int) -> int | None:
        """The number in the tables of the GPU that the machine calls `gpu`; None where no process is seen to use it.

        Older recordings do not map the numbers of processes to GPUs: a single one is the one that is used.
        """
        if self._physical:
            return next((n for key, n in self._numbers.items() if self._physical.get(key) == gpu), None)
        used = sorted(self._taken)
        if len(used) == 1 and len(self._gpus) <= 1:
            return used[0]
        own = {one["cuDevice"] for one in self._gpus if one["id"] == gpu} or {gpu}
        return next((n for n, (_, device) in self._taken.items() if device in own), None)

    def stage(self, staging: Staging) -> None:
        """Fill `devices` with used GPUs and other described ones."""
        renamed = [(pid, device) for (pid, device), number in self._numbers.items() if number != device]
        staging.observe(
            "devices-renumbered", "info", len(renamed),
            "processes call different GPUs by the same number",
            "every GPU has a number of its own in the tables; its process identifies it",
        )  # fmt: skip
        described: set[int] = set()
        for number, (pid, device) in sorted(self._taken.items()):
            gpu = self._gpu(pid, device)
            described.add(id(gpu))
            _insert(staging, number, gpu, self._old.get(device))
        for gpu in self._gpus:
            number = gpu["cuDevice"]
            if id(gpu) not in described and number is not None and 0 <= number < 2**31 and number not in self._taken:
                self._taken[number] = (-1, number)
                _insert(staging, number, gpu, None)

    def _is_same(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        first, second = self._physical.get(one), self._physical.get(other)
        if first is not None and second is not None:
            return bool(first == second)
        return one[1] == other[1] and len(self._gpus) == 1

    def _gpu(self, pid: int, device: int) -> dict[str, Any] | None:
        """The description of the GPU that a process calls `device`."""
        physical = self._physical.get((pid, device))
        if physical is not None:
            found = [gpu for gpu in self._gpus if gpu["id"] == physical]
        else:
            found = [gpu for gpu in self._gpus if device in (gpu["cuDevice"], gpu["deviceId"])]
        return found[0] if found else None


def _insert(staging: Staging, number: int, gpu: dict[str, Any] | None, old: dict[str, Any] | None) -> None:
    gpu, old = gpu or {}, old or {}
    major, minor = gpu.get("computeMajor"), gpu.get("computeMinor")
    if major is None:
        major, minor = old.get("computeCapabilityMajor"), old.get("computeCapabilityMinor")
    warp = _known(gpu.get("threadsPerWarp"), old.get("numThreadsPerWarp"))
    warps = _known(gpu.get("maxWarpsPerSm"), old.get("maxWarpsPerMultiprocessor"))
    row: dict[str, Any] = {
        "device": number,
        "name": gpu.get("name") or old.get("name"),
        "used": False,
        "memory_bytes": _known(gpu.get("totalMemory"), _bytes(old.get("globalMemorySize"))),
        "sms": _known(gpu.get("smCount"), old.get("numMultiprocessors")),
        "max_threads_per_sm": warp * warps if warp and warps and warp * warps < 2**31 else None,
        "registers_per_sm": _known(gpu.get("maxRegistersPerSm"), old.get("maxRegistersPerMultiprocessor")),
        "shared_bytes_per_sm": _known(gpu.get("maxShmemPerSm"), old.get("maxSharedMemoryPerMultiprocessor")),
        "warp_size": warp,
        "clock_hz": _known(gpu.get("clockRate"), 1000 * (old.get("coreClockRate") or 0)),
        "memory_bandwidth": _known(gpu.get("memoryBandwidth"), 1000 * (old.get("globalMemoryBandwidth") or 0)),
        "compute_capability": None if major is None else f"{major}.{minor or 0}",
    }
    for name in ("sms", "registers_per_sm", "warp_size"):
        value = row[name]
        row[name] = value if value is not None and 0 <= value < 2**31 else None
    names = ", ".join(row)
    marks = ", ".join("?" for _ in row)
    staging.connection.execute(f"INSERT INTO devices ({names}) VALUES ({marks})", list(row.values()))


def _bytes(size: int | None) -> int | None:
    """A memory size in bytes, converting values in MiB."""
    return size << 20 if size is not None and 0 < size < _LEAST_BYTES else size


def _known(*values: int | None) -> int | None:
    """The first recorded value; 0 stands for unknown."""
    return next((value for value in values if value), None)
