"""Find the files of one rank's result, in any of the profilers' folder layouts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stepscope.language import said
from stepscope.model.sizes import SIZES
from stepscope.readers.ascend.kinds import (
    SAMPLES,
    SUMMARIES,
    TABLES,
    Named,
    kind_of_name,
    named,
    newest,
    summary_kind,
    table_kind,
)
from stepscope.readers.protocol import Source

SQLITE: Final = b"SQLite format 3\0"
#: Output folders of the framework's profiler and of `msprof`.
OUTPUTS: Final = ("ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output")

#: Versions of `msprof` before 7 write into two folders of a device.
_OUTPUTS_OF_DEVICE: Final = ("summary", "timeline")
_DEVICE: Final = re.compile(r"device_\d+")

#: Of the frameworks' profilers, of `msprof`, which has the time of the export, and of msMonitor.
_DATABASE: Final = re.compile(
    r"ascend_(?:pytorch|mindspore)_profiler(?:_\d+)?\.db|msprof_\d{8,16}\.db|msmonitor_\d+_\d+_(?:-1|\d+)\.db"
)
_EXPORTED: Final = re.compile(r"msprof_\d+\.db")
_ANALYSIS: Final = ("analysis.db", "communication_analyzer.db")
_INFO: Final = re.compile(r"profiler_info(?:_(\d+))?\.json")
_RANK: Final = re.compile(r"_(\d{1,6})\.(?:db|json)$")

#: Bytes examined to recognise files whose names are ambiguous.
_HEAD: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class Result:
    """The files of one rank.

    Attributes:
        trace: `trace_view.json`, packed or not, if there is one, or the first of its slices.
        slices: Further slices of the trace.
        database: `ascend_pytorch_profiler*.db`.
        analysis: `analysis.db`.
        tables: CSV files by kind, the slices of a long one in their order.
        summaries: JSON files by kind.
        info: Contents of `profiler_info*.json`, empty if there is none.
        metadata: Contents of `profiler_metadata.json`, empty if there is none.
        rank: Rank from names and contents of these files; None if unknown.
        unreadable: Small files that could not be read as JSON.
        emptied: Files of known names with 0 bytes.
        older: Files of earlier exports of the same data.
        unknown: Tables of kinds that are not known.
    """

    trace: Source | None = None
    slices: tuple[Source, ...] = ()
    database: Path | None = None
    analysis: Path | None = None
    tables: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    summaries: dict[str, Path] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    rank: int | None = None
    unreadable: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    older: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def is_result(folder: Path) -> bool:
    """Whether a folder is one rank's result: holds its files or the profiler's output folder."""
    inner = _OUTPUTS_OF_DEVICE if _DEVICE.fullmatch(folder.name) else OUTPUTS
    for place in (folder, *(folder / name for name in inner)):
        if place.is_dir() and _has_results(place):
            # Databases of many ranks in one folder, or results beside each other, are many results.
            return len(_databases(_listed(place))) <= 1
    return False


def _databases(files: Iterable[Path]) -> list[Path]:
    """The databases among files of one folder, in order of their names; of several exports of `msprof` the last."""
    found = sorted(path for path in files if is_database(path))
    return [path for path in found if not _EXPORTED.fullmatch(path.name) or path == found[-1]]


def _has_results(place: Path) -> bool:
    """Whether the folder holds a file of the profiler, recognised by the folder's name or the file's contents."""
    if _databases(_listed(place)):
        return True
    for path in _listed(place):
        kind = kind_of_name(path.name)
        own = place.name in (*OUTPUTS, *_OUTPUTS_OF_DEVICE) or path.name.removesuffix(".gz") in (
            "trace_view.json",
            "kernel_details.csv",
        )
        if path.name in _ANALYSIS and (own or (place / "step_trace_time.csv").is_file()):
            return True
        if kind is not None and (own or kind in (table_kind(_head(path)), summary_kind(_head(path)))):
            return True
    return False


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def find(folder: Path) -> Result:
    """The files of the result in `folder`, which is an output folder or the one around it."""
    inner = [folder / name for name in (*OUTPUTS, *_OUTPUTS_OF_DEVICE) if (folder / name).is_dir()]
    output = inner[0] if inner else folder
    around = folder if output != folder else _around(folder)
    # On shared storage listing a folder takes longer than anything else here.
    inside = _listed(output)
    if output.name in _OUTPUTS_OF_DEVICE:
        inside = [path for place in inner for path in _listed(place)]
    beside = inside if around == output else _listed(around)
    databases = _databases(inside) or _databases(beside)
    unreadable: list[str] = []
    info_file = next((p for p in beside if _INFO.fullmatch(p.name)), None)
    info = _json(info_file, unreadable)
    database = databases[0] if databases else None
    found: dict[str, list[tuple[Named, Path]]] = {}
    for path in inside:
        if (one := named(path.name)) and _file(path):
            found.setdefault(one.kind, []).append((one, path))
    kinds = {kind: newest(files) for kind, files in found.items()}
    traces = [Source(path) for path in kinds.get("trace_view", ())]
    return Result(
        trace=traces[0] if traces else None,
        slices=tuple(traces[1:]),
        database=database,
        analysis=next((path for path in inside if path.name in _ANALYSIS and _file(path)), None),
        tables={kind: tuple(kinds[kind]) for kind in (*TABLES, *SAMPLES) if kind in kinds},
        summaries={kind: kinds[kind][0] for kind in SUMMARIES if kind in kinds},
        info=info,
        metadata=_json(_file(around / "profiler_metadata.json"), unreadable),
        rank=_rank(info_file, info, database),
        unreadable=tuple(unreadable),
        emptied=tuple(path.name for path in dict.fromkeys((*inside, *beside)) if _is_emptied(path)),
        older=tuple(path.name for kind, files in found.items() for _, path in files if path not in kinds[kind]),
        unknown=tuple(path.name for path in inside if output != around and _is_unknown(path)),
    )


#: Tables that say in another form what is read: `task_time` what the trace does.
_SAID: Final = ("task_time", "communication_statistic", "fusion_op", "step_trace", "op_statistic")


def _is_unknown(path: Path) -> bool:
    return path.suffix == ".csv" and kind_of_name(path.name) is None and not path.name.startswith(_SAID)


def _is_emptied(path: Path) -> bool:
    known = kind_of_name(path.name) or path.name in (*_ANALYSIS, "profiler_metadata.json") or _INFO.fullmatch(path.name)
    return bool(known or is_database(path)) and path.stat().st_size == 0


def _around(output: Path) -> Path:
    """The folder with the profiler's metadata: the parent of an output folder given by itself."""
    return output.parent if output.name in OUTPUTS else output


def _rank(info_file: Path | None, info: dict[str, Any], database: Path | None) -> int | None:
    for path in (info_file, database):
        match = _RANK.search(path.name) if path else None
        if match:
            return int(match[1])
    recorded = str(info.get("rank_id"))
    return int(recorded) if re.fullmatch(r"\d{1,6}", recorded) else None


def is_database(path: Path) -> bool:
    """Whether a file has the name of the profiler's database."""
    return _DATABASE.fullmatch(path.name) is not None


def rank_in_name(name: str) -> int | None:
    """The rank in the name of a file such as `ascend_pytorch_profiler_3.db`."""
    match = _RANK.search(name)
    return int(match[1]) if match else None


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_file())
    except OSError:
        return []


def _file(path: Path) -> Path | None:
    return path if path.is_file() and path.stat().st_size else None


def _json(path: Path | None, unreadable: list[str]) -> dict[str, Any]:
    value = read_json(path) if path else {}
    if value is None and path:
        unreadable.append(path.name)
    return value or {}


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file of sums; None if there is none, or it is too large. `N/A` is read as null."""
    try:
        if path.stat().st_size > SIZES.sums_bytes:
            return None
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        value = json.loads(re.sub(r"(?<=[:,\[\s])N/A(?=\s*[,}\]])", "null", text), strict=False)
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def why_unread(path: Path) -> str:
    """What to say of a file of which `read_json` returns None."""
    with suppress(OSError):
        if path.stat().st_size > SIZES.sums_bytes:
            return said("{name} has more than {sums_bytes} MiB", name=path.name, sums_bytes=SIZES.sums_bytes >> 20)
    return said("{name} is no JSON", name=path.name)
