"""Tables on the machine, the session and the export itself."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from stepscope.simulate.devices import DEVICES
from stepscope.simulate.job import SimJob
from stepscope.simulate.writers.export_database import ExportDatabase
from stepscope.simulate.writers.nsight_enums import ENUMS, NON_BLOCKING
from stepscope.simulate.writers.nsight_identity import GLOBAL_VM, Identity
from stepscope.simulate.writers.nsight_schema import PRODUCT_VERSION, SCHEMA_VERSION

# By compute capability: chip, clock in Hz, L2 cache, shared memory per SM and per block (CUDA C++
# Programming Guide, technical specifications per compute capability; data sheets of V100, A100, H100 and B200).
_CHIPS = {
    (7, 0): ("GV100", 1_530_000_000, 6_291_456, 98_304, 98_304),
    (8, 0): ("GA100", 1_410_000_000, 41_943_040, 167_936, 166_912),
    (9, 0): ("GH100", 1_980_000_000, 52_428_800, 233_472, 232_448),
    (10, 0): ("GB100", 1_965_000_000, 132_644_864, 233_472, 232_448),
}


def write_session(job: SimJob, database: ExportDatabase, who: Identity, rank: int) -> None:
    """Rows written once per export."""
    started = datetime.fromtimestamp(who.utc_ns // 10**9, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    start = (who.utc_ns, started, started, 35_000_000_000)
    database.table("TARGET_INFO_SESSION_START_TIME").append(start)
    for number, (name, value) in _system(job, rank).items():
        database.table("TARGET_INFO_SYSTEM_ENV").append((GLOBAL_VM, "Local (CLI)", name, number, value))
    for index in range(min(job.ranks, job.ranks_per_host)):
        database.table("TARGET_INFO_GPU").append(_gpu(job, index))
    for table, rows in ENUMS.items():
        database.table(table).extend(rows)
    database.table("META_DATA_CAPTURE").extend(_capture(job))
    version = {"EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems", "EXPORT_PRODUCT_VERSION": PRODUCT_VERSION}
    version["EXPORT_SCHEMA_VERSION"] = ".".join(map(str, SCHEMA_VERSION))
    for part, number in zip(("MAJOR", "MINOR", "MICRO"), SCHEMA_VERSION, strict=True):
        version[f"EXPORT_SCHEMA_VERSION_{part}"] = str(number)
    version |= {"EXPORT_PARAM_LAZY": "true", "EXPORT_PARAM_INCLUDE_JSON": "true"}
    version |= {"EXPORT_PARAM_TIME_NORMALIZE": "false", "EXPORT_PARAM_TIME_SHIFT": "0"}
    database.table("META_DATA_EXPORT").extend(version.items())


def write_process(job: SimJob, database: ExportDatabase, who: Identity) -> None:
    """Rows written per process: its name, threads, device, context and streams."""
    device = DEVICES[job.device]
    database.table("PROCESSES").append((who.process, who.pid, "python3"))
    for thread, name in zip(who.threads, ("python3", "pt_autograd_0"), strict=True):
        database.table("ThreadNames").append((database.text(name), 10, thread))
    row: tuple[Any, ...] = (who.index, who.index, who.pid, _uuid(who.index), device.sms)
    database.table("TARGET_INFO_CUDA_DEVICE").append(row)
    row = (who.streams[0], 0, 1, who.pid, who.index, who.context, 0, 0, 0, 0, None, 0, 0, 0)
    database.table("TARGET_INFO_CUDA_CONTEXT_INFO").append(row)
    for stream in who.streams[1:]:
        row = (stream, 0, 1, who.pid, who.context, 0, NON_BLOCKING)
        database.table("TARGET_INFO_CUDA_STREAM").append(row)


def write_variables(job: SimJob, database: ExportDatabase, rank: int) -> None:
    """The environment that the launcher gave the process, in an export of one process."""
    given = {"RANK": rank, "WORLD_SIZE": job.ranks, "LOCAL_RANK": rank % job.ranks_per_host}
    rows = [("PROCESS_0:ENVIRONMENT_VARIABLE", f"{name}={value}") for name, value in given.items()]
    database.table("META_DATA_CAPTURE").extend(rows)


def _system(job: SimJob, rank: int) -> dict[int, tuple[str, str]]:
    return {
        1: ("CpuCores", "96"),
        3: ("CpuArchitecture", "x86_64"),
        205: ("NvDriverVersion", "580.95.05"),
        600: ("HardwarePlatform", "x86_64"),
        601: ("SoftwarePlatform", "Linux"),
        611: ("CudaDriverVersion", "13000"),
        619: ("Hostname", f"host{rank // job.ranks_per_host}"),
    }


def _capture(job: SimJob) -> list[tuple[str, str]]:
    memory = "true" if job.profile_memory else "false"
    return [
        ("CAPTURE_EVENT_TYPE", "NvtxEvents"),
        ("CAPTURE_EVENT_TYPE", "Cuda"),
        ("CAPTURE_EVENT_TYPE", "OSRuntime"),
        ("RATE_HZ", "0"),
        ("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node"),
        ("CUDA_SKIP_SOME_API_CALLS", "true" if not job.record_calls else "false"),
        ("COLLECT_GPU_MEMORY_USAGE", memory),
        ("OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS", "1000"),
        ("PROCESS_0:COMMAND", "python"),
        ("PROCESS_0:ARGUMENT_0", "train.py"),
    ]


def _uuid(index: int) -> str:
    return f"00000000-0000-4000-8000-{index:012x}"


def _gpu(job: SimJob, index: int) -> tuple[Any, ...]:
    device = DEVICES[job.device]
    chip, clock, cache, shared, block = _CHIPS[device.capability]
    bus = f"0000:{index + 1:02x}:00.0"
    identity = (GLOBAL_VM, index, device.name, bus, 1, cache, device.memory, int(device.bandwidth), clock, device.sms)
    names = (index, _uuid(index), 0, chip, index, "", "", 161, 1)
    limits = (65_536, 4, 65_536, 49_152, block, shared, 65_536, device.warp, 3, 64, 32)
    sizes = (1024, 1024, 1024, 64, 2_147_483_647, 65_535, 65_535)
    return (*identity, *names, *limits, *sizes, *device.capability, *device.capability)
