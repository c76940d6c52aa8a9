"""Stage samples over time: scheduling of threads, metrics of GPUs and networks, page faults, device memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from stepscope.language import said
from stepscope.readers.nsight.loader import ExportLoader
from stepscope.readers.nsight.processes import pid
from stepscope.readers.nsight.tables import records
from stepscope.readers.sqlite.columns import Columns

_SCHEDULING: Final = Columns(ints=("start", "isSchedIn", "globalTid", "threadState"))
#: States of `ENUM_SAMPLING_THREAD_STATE` in which a thread without a processor could run: running, unscheduled.
_READY: Final = "CASE WHEN isSchedIn = 0 AND threadState IN (1, 6) THEN -1 ELSE isSchedIn END"
_GPU_METRICS: Final = Columns(ints=("timestamp", "typeId", "metricId"), floats=("value",))
_METRIC_NAMES: Final = Columns(ints=("typeId", "metricId"), texts=("typeName", "metricName"))
_NETWORK: Final = Columns(ints=("start", "globalId", "portId", "metricsListId", "metricsIdx"), floats=("value",))
_NETWORK_NAMES: Final = Columns(ints=("metricsListId", "metricsIdx"), texts=("name",))
_CPU_FAULTS: Final = Columns(ints=("start", "globalPid"))
_GPU_FAULTS: Final = Columns(ints=("start", "globalPid", "deviceId", "numberOfPageFaults"))
_MEMORY: Final = Columns(ints=("start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType"))

#: Process, thread and series of a counter, from the values of its key.
Describe = Callable[[tuple[int, ...]], tuple[str, str, str]]

#: Memory kinds that lie on the device: device, array, static device.
_ON_DEVICE: Final = "(2, 3, 5)"


def load_counters(loader: ExportLoader) -> None:
    """Stage all samples."""
    _load_scheduling(loader)
    _load_gpu_metrics(loader)
    for table in ("NET_NIC_METRIC", "NET_IB_SWITCH_METRIC"):
        _load_network(loader, table)
    _load_page_faults(loader)
    _load_memory(loader)


def _load_scheduling(loader: ExportLoader) -> None:
    """Stage a counter per thread that is 1 while the thread runs on a CPU, and -1 while it is known that it could."""
    for _ in loader.chunks("SCHED_EVENTS", _SCHEDULING):
        _insert(loader, "start", ("coalesce(globalTid, 0)",), _READY, lambda key: (
            str(pid(key[0])), said("thread {key} on CPU", key=key[0] & 16777215), "on CPU"))  # fmt: skip


def _load_gpu_metrics(loader: ExportLoader) -> None:
    listed = records(loader.tables, "TARGET_INFO_GPU_METRICS", _METRIC_NAMES)
    names = {(row["typeId"], row["metricId"]): row["metricName"] for row in listed}
    kinds = {row["typeId"]: row["typeName"] for row in listed}

    def describe(key: tuple[int, ...]) -> tuple[str, str, str]:
        # The lowest byte of the type is the GPU: every type is one GPU's set of metrics.
        group = f"GPU {key[0] & 0xFF}" + (f" ({kinds[key[0]]})" if kinds.get(key[0]) else "")
        name = names.get((key[0], key[1])) or f"metric {key[1]}"
        return f"gpu metrics {key[0]}", f"{group} {name}", name

    def number(key: tuple[int, ...]) -> int | None:
        return loader.devices.sampled(key[0] & 0xFF)

    for _ in loader.chunks("GPU_METRICS", _GPU_METRICS):
        _insert(loader, "timestamp", ("coalesce(typeId, 0)", "coalesce(metricId, 0)"), "value", describe, number)


def _load_network(loader: ExportLoader, table: str) -> None:
    listed = records(loader.tables, "TARGET_INFO_NETWORK_METRICS", _NETWORK_NAMES)
    names = {(row["metricsListId"], row["metricsIdx"]): row["name"] for row in listed}

    def describe(key: tuple[int, ...]) -> tuple[str, str, str]:
        name = names.get((key[2], key[3])) or f"metric {key[3]}"
        adapter = "switch" if "SWITCH" in table else "NIC"
        return "network", f"{adapter} {key[0]:#x} port {key[1]} {name}", name

    keys = tuple(f"coalesce({name}, 0)" for name in ("globalId", "portId", "metricsListId", "metricsIdx"))
    for _ in loader.chunks(table, _NETWORK):
        _insert(loader, "start", keys, "value", describe)


def _load_page_faults(loader: ExportLoader) -> None:
    """Stage page faults of managed memory as counters: a sample per event with the number of faults."""
    for _ in loader.chunks("CUDA_UM_CPU_PAGE_FAULT_EVENTS", _CPU_FAULTS):
        _insert(loader, "start", ("coalesce(globalPid, 0)",), "1", lambda key: (
            str(pid(key[0])), "CPU page faults of managed memory", "CPU page faults"))  # fmt: skip
    for _ in loader.chunks("CUDA_UM_GPU_PAGE_FAULT_EVENTS", _GPU_FAULTS):
        keys = ("coalesce(globalPid, 0)", "coalesce(deviceId, 0)")
        _insert(loader, "start", keys, "numberOfPageFaults", lambda key: (
            str(pid(key[0])), f"GPU {loader.devices.number(pid(key[0]), key[1])} page faults of managed memory",
            "GPU page faults"))  # fmt: skip


def _load_memory(loader: ExportLoader) -> None:
    """Stage allocations from the driver, which have no thread and therefore no owner."""
    connection = loader.staging.connection
    for _ in loader.chunks("CUDA_GPU_MEMORY_USAGE_EVENTS", _MEMORY):
        keys = connection.execute(
            "SELECT coalesce(globalPid, 0), coalesce(deviceId, 0) FROM chunk GROUP BY ALL ORDER BY min(id)"
        ).fetchall()
        numbers = [loader.devices.number(pid(process), device) for process, device in keys]
        columns = {"process": [k[0] for k in keys], "own": [k[1] for k in keys], "number": numbers}
        connection.register("numbered", pa.table(columns, schema=pa.schema(dict.fromkeys(columns, pa.int64()))))
        connection.execute(
            "INSERT INTO raw_memory BY NAME SELECT start AS ts, "
            f"CASE WHEN coalesce(memKind, 2) IN {_ON_DEVICE} THEN number END::INTEGER AS device, address, "
            "CASE memoryOperationType WHEN 1 THEN -bytes ELSE bytes END AS bytes FROM chunk "
            "JOIN numbered ON process = coalesce(globalPid, 0) AND own = coalesce(deviceId, 0) "
            "WHERE start IS NOT NULL ORDER BY start"
        )
        connection.unregister("numbered")


def _insert(
    loader: ExportLoader, time: str, keys: tuple[str, ...], value: str, describe: Describe,
    number: Callable[[tuple[int, ...]], int | None] = lambda _: None,
) -> None:  # fmt: skip
    """Stage the chunk's samples, a track per distinct key, with the number of the device that they are of."""
    connection = loader.staging.connection
    aliases = [f"k{index}" for index in range(len(keys))]
    listed = ", ".join(f"{key} AS {alias}" for key, alias in zip(keys, aliases, strict=True))
    first = f"SELECT {', '.join(aliases)} FROM (SELECT id, {listed} FROM chunk) GROUP BY ALL ORDER BY min(id)"
    found = connection.execute(first).fetchall()
    described = [describe(key) for key in found]
    tracks = [
        loader.staging.track("counter", process=process, thread=label, device=number(key))
        for key, (process, label, _) in zip(found, described, strict=True)
    ]
    columns = {alias: pa.array([key[i] for key in found], pa.int64()) for i, alias in enumerate(aliases)}
    columns["track"] = pa.array(tracks, pa.int32())
    columns["series"] = pa.array([series for _, _, series in described], pa.string())
    connection.register("described", pa.table(columns))
    connection.execute(
        f"INSERT INTO counters BY NAME SELECT ts, track, series AS name, value FROM (SELECT {time} AS ts, {listed}, "
        f"({value})::DOUBLE AS value FROM chunk) JOIN described USING ({', '.join(aliases)}) "
        "WHERE ts IS NOT NULL AND isfinite(value) ORDER BY ts"
    )
    connection.unregister("described")
