"""Read exports of Nsight Systems from 2020 on, table by table."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.model.recording import Recording
from stepscope.readers.content import Damage
from stepscope.readers.nsight.counters import load_counters
from stepscope.readers.nsight.device_activities import load_device_work
from stepscope.readers.nsight.devices import Devices
from stepscope.readers.nsight.host import load_api, load_other_calls
from stepscope.readers.nsight.inputs import NAME
from stepscope.readers.nsight.loader import ExportLoader
from stepscope.readers.nsight.metadata import (
    Metadata,
    label_threads,
    observe_messages,
    observe_names,
    program_attributes,
)
from stepscope.readers.nsight.nvtx import load_nvtx, thread_names
from stepscope.readers.nsight.opening import opened
from stepscope.readers.nsight.processes import ProcessTables, gpu_processes, pid
from stepscope.readers.nsight.samples import load_samples
from stepscope.readers.nsight.start_end_ranges import attach_ranges
from stepscope.readers.nsight.tables import Tables
from stepscope.readers.nsight.unnamed_calls import name_calls
from stepscope.readers.protocol import Progress, Source
from stepscope.readers.sqlite.logs import observe_logs
from stepscope.store.staging import Staging

#: Data of an export besides events, by table.
_ELSE: Final = {
    "COMPOSITE_EVENTS": "samples of the processor", "SCHED_EVENTS": "times at which threads ran",
    "GPU_METRICS": "counters of the device",
}  # fmt: skip


def read(source: Source, staging: Staging, progress: Progress) -> Recording:
    """Stage every row that can be read."""
    damage = Damage()
    with opened(source, staging.folder / "spill", damage) as whole:
        processes = gpu_processes(whole)
        tables = _part(source, whole, processes)
        rows = sum(whole.rows(name) for name in whole.names())
        loader = ExportLoader(staging, tables, Devices(tables), progress, _size(source.path) / max(1, rows))
        metadata = Metadata(tables)
        about = _load(loader, metadata)
        if staging.one("SELECT count(*) FROM raw_events") == (0,):
            raise _unusable(source, tables)
        _observe_damage(staging, tables, damage)
        tables.losses.observe(staging, source.path.name)
        observe_logs(staging, source.path)
        rank, world_size = metadata.rank(max(len(processes), len(loader.devices.processes)))
        parts = tuple(map(_called, processes[1:])) if not source.part else ()
        staging.observe(
            "processes-split", "info", len(parts) + 1 if parts else 0, "processes in the recording use a GPU",
            "each is a rank of its own; those that use none are shown with the first",
        )  # fmt: skip
        return Recording(
            source=str(source),
            reader=NAME,
            rank=rank,
            world_size=world_size,
            host=metadata.host,
            origin_unix_ns=metadata.start_unix_ns,
            attributes=metadata.attributes() | about,
            part=source.part,
            parts=parts,
        )


def _part(source: Source, tables: Tables, processes: list[int]) -> Tables:
    """The part of the export that a source stands for: each process with a GPU is a recording.

    Raises:
        UnusableInputError: There is no such process.
    """
    if not source.part:
        return ProcessTables(tables, None, processes[1:]) if len(processes) > 1 else tables
    process = next((process for process in processes[1:] if _called(process) == source.part), None)
    if process is None:
        raise UnusableInputError(
            said("{source} is not in the export", source=source), hint="give the export as a whole"
        )
    return ProcessTables(tables, process, [])


def _called(process: int) -> str:
    """The name of a part of an export."""
    return f"process {pid(process)}"


def _load(loader: ExportLoader, metadata: Metadata) -> dict[str, str | int | float | bool]:
    """Stage all tables, and return attributes of the program. Calls come first, since device work refers to them."""
    loader.load_strings()
    load_api(loader)
    load_device_work(loader, metadata.schema_version)
    load_nvtx(loader, metadata.stop)
    load_other_calls(loader)
    attach_ranges(loader)
    load_counters(loader)
    load_samples(loader)
    loader.devices.stage(loader.staging)
    label_threads(loader, thread_names(loader))
    observe_messages(loader)
    observe_names(loader)
    name_calls(loader)
    about = program_attributes(loader)
    loader.close()
    return about


def _unusable(source: Source, tables: Tables) -> UnusableInputError:
    if tables.damage:
        return UnusableInputError(
            said("{source} is too damaged to be used ({damage})", source=source, damage=tables.damage[-1]),
            hint="export the report again with `nsys export --type sqlite`",
        )
    names = tables.names()
    held = " and ".join(what for table, what in _ELSE.items() if table in names and tables.rows(table))
    what = said("only {held}: no calls, ranges or work of a device", held=held) if held else said("no events")
    return UnusableInputError(
        said("{source} holds {what}", source=source, what=what),
        hint="record with `nsys profile --trace=cuda,nvtx,osrt`",
    )


def _observe_damage(staging: Staging, tables: Tables, damage: Damage) -> None:
    damage.observe(staging)
    staging.observe(
        "tables-damaged", "error", len(tables.damage),
        said("parts can't be read: {damage}", damage='; '.join(tables.damage[:5])),
        "what they hold is missing from every number; export the report again",
    )  # fmt: skip


def _size(path: Path) -> int:
    return sum(p.stat().st_size for p in path.iterdir() if p.is_file()) if path.is_dir() else path.stat().st_size
