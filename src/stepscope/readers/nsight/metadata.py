"""Metadata of an export: versions, host, options, names of threads, messages of the profiler."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from stepscope.language import said
from stepscope.readers.nsight.loader import ExportLoader
from stepscope.readers.nsight.processes import pid
from stepscope.readers.nsight.tables import Tables, records
from stepscope.readers.sqlite.columns import Columns

_PAIRS: Final = Columns(texts=("name", "value"))
_START: Final = Columns(ints=("utcEpochNs",))
_DETAILS: Final = Columns(ints=("stopTime",))
_THREADS: Final = Columns(ints=("nameId", "priority", "globalTid"))
#: A line break as two characters; `C:\\name` is none.
_BREAK: Final = re.compile(r"(?<![:\\])\\n")
_MESSAGES: Final = Columns(ints=("severity",), texts=("text",))
_RANKS: Final = Columns(ints=("rank",))
_PROCESSES: Final = Columns(ints=("globalPid",), texts=("name",))
#: Tables of programming interfaces that identify a program's programming model.
_APIS: Final = {
    "MPI_": "mpi", "CUPTI_ACTIVITY_KIND_OPENACC": "openacc", "CUPTI_ACTIVITY_KIND_OPENMP": "openmp",
}  # fmt: skip

#: Facts about machine and recording to show. Command lines and environment variables are private and not among them.
_SYSTEM: Final = {
    "NvDriverVersion": "driver_version", "CudaDriverVersion": "cuda_driver_version", "SoftwarePlatform": "platform",
    "CpuArchitecture": "cpu_architecture", "CpuCores": "cpu_cores", "SoftwareReleaseVersion": "os_release",
}  # fmt: skip
_EXPORT: Final = {"EXPORT_PRODUCT_VERSION": "nsys_version", "EXPORT_SCHEMA_VERSION": "schema_version"}
_CAPTURE: Final = {
    "CUDA_GRAPH_TRACE_OPTIONS:MODE": "cuda_graph_trace", "CUDA_SKIP_SOME_API_CALLS": "skips_some_api_calls",
    "COLLECT_GPU_MEMORY_USAGE": "device_memory_usage", "RATE_HZ": "cpu_sampling_hz",
    "OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS": "os_runtime_least_ns",
}  # fmt: skip

#: Environment variables of launchers with the rank of a process, and the number of ranks.
_RANK_VARIABLES: Final = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
_SIZE_VARIABLES: Final = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")

_WARNING: Final = 2
_ERROR: Final = 3
#: Ignored messages: warnings on graphics interfaces, one for each that the program does not use.
_IRRELEVANT: Final = re.compile(r"OpenGL|Vulkan|DirectX|DX1[12]|WDDM|OpenXR|No NVTX events|MMAP events")
_SHOWN_MESSAGES: Final = 4

#: The system's default names of threads.
_GENERIC: Final = re.compile(r"^(python[\d.]*|pt_main_thread|main|\[.*\])$")


class Metadata:
    """Pairs of names and values from the tables that have them."""

    def __init__(self, tables: Tables) -> None:
        self._capture: dict[str, str] = {}
        self._environment: dict[str, str] = {}
        for row in records(tables, "META_DATA_CAPTURE", _PAIRS):
            name, value = row["name"] or "", row["value"] or ""
            if name.endswith("ENVIRONMENT_VARIABLE"):
                variable, _, content = value.partition("=")
                self._environment[variable] = content
            else:
                self._capture.setdefault(name.removeprefix("PROCESS_0:"), value)
                self._capture[name] = value
        export = [row for name in ("EXPORT_META_DATA", "META_DATA_EXPORT") for row in records(tables, name, _PAIRS)]
        self._export = {row["name"]: row["value"] for row in export}
        self._system = {row["name"]: row["value"] for row in records(tables, "TARGET_INFO_SYSTEM_ENV", _PAIRS)}
        starts = records(tables, "TARGET_INFO_SESSION_START_TIME", _START)
        self.start_unix_ns: int | None = next((row["utcEpochNs"] for row in starts if row["utcEpochNs"]), None)
        stops = [row["stopTime"] for row in records(tables, "ANALYSIS_DETAILS", _DETAILS)]
        self.stop: int | None = max((stop for stop in stops if stop is not None), default=None)
        ranks = {row["rank"] for row in records(tables, "MPI_RANKS", _RANKS)}
        self._mpi_rank: int | None = ranks.pop() if len(ranks) == 1 else None

    @property
    def host(self) -> str | None:
        """Name of the recorded machine."""
        return self._system.get("Hostname") or None

    @property
    def schema_version(self) -> tuple[int, ...]:
        """Version of the export's schema; (0,) if not recorded."""
        numbers = re.findall(r"\d+", self._export.get("EXPORT_SCHEMA_VERSION") or "0")
        return tuple(int(number[:9]) for number in numbers) or (0,)

    def rank(self, processes: int) -> tuple[int | None, int | None]:
        """Rank and number of ranks from the launcher's environment, if at most one process uses a GPU; else None."""
        if processes > 1:
            return self._mpi_rank, None
        rank = self._mpi_rank if self._mpi_rank is not None else self._variable(_RANK_VARIABLES)
        return rank, self._variable(_SIZE_VARIABLES)

    def attributes(self) -> dict[str, str | int | float | bool]:
        """Facts about the machine, the profiler and its options."""
        found: dict[str, str | int | float | bool] = {}
        chosen = ((self._export, _EXPORT), (self._system, _SYSTEM), (self._capture, _CAPTURE))
        for values, names in chosen:
            for recorded, name in names.items():
                value = values.get(recorded)
                if value:
                    found[name] = {"true": True, "false": False}.get(value, value)
        return found

    def _variable(self, names: tuple[str, ...]) -> int | None:
        values = (self._environment.get(name, "") for name in names)
        return next((int(v) for v in values if re.fullmatch(r"\d{1,6}", v)), None)


def program_attributes(loader: ExportLoader) -> dict[str, str | int | float | bool]:
    """The program's file name, without folder and arguments, and the programming interfaces recorded.

    The process is the one with recorded events; older exports name the main thread instead of processes.
    """
    found: dict[str, str | int | float | bool] = {}
    first = loader.staging.one("SELECT min(global_pid) FROM nsight_processes WHERE number = 0")[0]
    listed = {row["globalPid"]: row["name"] for row in records(loader.tables, "PROCESSES", _PROCESSES)}
    threads = records(loader.tables, "ThreadNames", _THREADS)
    main = [row["nameId"] for row in threads if first is not None and row["globalTid"] == first + pid(first)]
    names = loader.strings({number for number in main if number is not None}) if main else {}
    name = listed.get(first) or next((names[number] for number in main if number in names), "")
    if base := re.split(r"[\\/]", name.strip())[-1]:
        found["executable"] = base[:60]
    apis = {api for start, api in _APIS.items() for table in loader.tables.names() if table.startswith(start)}
    if used := sorted(apis):
        found["apis"] = ", ".join(used)
    return found


def label_threads(loader: ExportLoader, given: list[tuple[int, str]]) -> None:
    """Label threads with names given by the program, else by the system.

    Of several system names the one of the highest priority is used, of equal ones the last; one that is no default
    replaces the program's.
    """
    listed = records(loader.tables, "ThreadNames", _THREADS)
    texts = loader.strings({row["nameId"] for row in listed if row["nameId"] is not None}) if listed else {}
    best: dict[int, tuple[bool, int]] = {}
    labels: dict[int, str] = {}
    for row in listed:
        thread, name = row["globalTid"], texts.get(row["nameId"], "")
        worth = (not _GENERIC.match(name), row["priority"] or 0)
        if thread is not None and name and worth >= best.get(thread, (False, -(2**63))):
            best[thread], labels[thread] = worth, name
    labels.update(given)
    columns = {"thread": pa.array(labels.keys(), pa.int64()), "name": pa.array(labels.values(), pa.string())}
    loader.staging.write_tracks()
    loader.staging.connection.register("labels", pa.table(columns))
    loader.staging.connection.execute(
        "UPDATE tracks SET label = l.name FROM nsight_threads t JOIN labels l ON l.thread = t.global_tid "
        "WHERE t.track = tracks.track"
    )
    loader.staging.connection.unregister("labels")


def observe_messages(loader: ExportLoader) -> None:
    """Report the profiler's own messages on missing data and errors."""
    words: dict[int, list[str]] = {_WARNING: [], _ERROR: []}
    for row in records(loader.tables, "DIAGNOSTIC_EVENT", _MESSAGES):
        text = " ".join(_BREAK.sub(" ", row["text"] or "").split())[:300].rstrip(". ")
        if row["severity"] in words and text and not _IRRELEVANT.search(text):
            words[row["severity"]].append(text)
    for severity, texts in words.items():
        different = list(dict.fromkeys(texts))
        more = (
            said("; and {different} more", different=len(different) - _SHOWN_MESSAGES)
            if len(different) > _SHOWN_MESSAGES
            else ""
        )
        loader.staging.observe(
            "profiler-failed" if severity == _ERROR else "profiler-warned", "warning" if severity == _ERROR else "info",
            len(texts),
            said("messages of the profiler: {different}{more}", different='; '.join(different[:_SHOWN_MESSAGES]),
                 more=more),
            "something that was asked for may be missing from the recording",
        )  # fmt: skip


def observe_names(loader: ExportLoader) -> None:
    """Report lost names."""
    [missing] = loader.staging.one(r"SELECT count(*) FROM names WHERE regexp_full_match(name, '#\d+')")
    loader.staging.observe(
        "names-missing", "warning", missing, "names are missing from the export's table of strings",
        "they are shown as their numbers, and kernels without a name have no class",
    )  # fmt: skip
