"""Which files belong to one rank's result, wherever they lie."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stepscope.readers.protocol import Source

#: Where the profiler puts what it parsed.
OUTPUT: Final = "ASCEND_PROFILER_OUTPUT"

_DATABASE: Final = re.compile(r"ascend_pytorch_profiler(?:_\d+)?\.db")
_INFO: Final = re.compile(r"profiler_info(?:_(\d+))?\.json")
_RANK: Final = re.compile(r"_(\d{1,6})\.(?:db|json)$")

#: Files of a text export, without which a folder is none.
_TEXT: Final = ("trace_view.json", "kernel_details.csv")
_CSV: Final = (
    "kernel_details", "operator_memory", "memory_record", "npu_module_mem", "op_statistic", "api_statistic",
    "l2_cache", "data_preprocess", "step_trace_time", "operator_details",
)  # fmt: skip
_JSON: Final = ("communication", "communication_matrix")
#: What a rank holds of which only the sums were kept. Names as common as these count where the folder is the
#: profiler's own, or several of them lie together.
_SUMS: Final = ("step_trace_time.csv", "communication.json", "communication_matrix.json", "analysis.db")
_SMALL: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Result:
    """The files of one rank.

    Attributes:
        trace: `trace_view.json`, if there is one.
        database: `ascend_pytorch_profiler*.db`.
        analysis: `analysis.db`.
        tables: CSV files by name without extension.
        summaries: JSON files by name without extension.
        info: Contents of `profiler_info*.json`, empty if there is none.
        metadata: Contents of `profiler_metadata.json`, empty if there is none.
        rank: As told by names and contents of these files.
        unreadable: Small files that could not be read as JSON.
        emptied: Files of known names that have no byte.
    """

    trace: Source | None = None
    database: Path | None = None
    analysis: Path | None = None
    tables: dict[str, Path] = field(default_factory=dict)
    summaries: dict[str, Path] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    rank: int | None = None
    unreadable: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()


def is_result(folder: Path) -> bool:
    """Whether a folder is one rank's result: its files or the profiler's output folder lie in it."""
    for place in (folder, folder / OUTPUT):
        if place.is_dir() and (_has_events(place) or _has_sums(place)):
            # Databases of many ranks in one folder, or results beside each other, are many results.
            return len(_databases(place)) <= 1
    return False


def _has_events(place: Path) -> bool:
    return any((place / name).is_file() for name in _TEXT) or bool(_databases(place))


def _has_sums(place: Path) -> bool:
    found = sum((place / name).is_file() for name in _SUMS)
    return found > (0 if place.name == OUTPUT else 1)


def find(folder: Path) -> Result:
    """The files of the result in `folder`, which is an output folder or the one around it."""
    output = folder / OUTPUT if (folder / OUTPUT).is_dir() else folder
    around = folder if output != folder else _around(folder)
    databases = _databases(output)
    unreadable: list[str] = []
    info_file = next((p for p in _listed(around) if _INFO.fullmatch(p.name)), None)
    info = _json(info_file, unreadable)
    database = databases[0] if databases else None
    return Result(
        trace=Source(trace) if (trace := _file(output / "trace_view.json")) else None,
        database=database,
        analysis=_file(output / "analysis.db"),
        tables={name: path for name in _CSV if (path := _file(output / f"{name}.csv"))},
        summaries={name: path for name in _JSON if (path := _file(output / f"{name}.json"))},
        info=info,
        metadata=_json(_file(around / "profiler_metadata.json"), unreadable),
        rank=_rank(info_file, info, database),
        unreadable=tuple(unreadable),
        emptied=tuple(path.name for path in (*_listed(output), *_listed(around)) if _is_emptied(path)),
    )


def _is_emptied(path: Path) -> bool:
    known = path.stem in (*_CSV, *_JSON, "trace_view", "profiler_metadata", "analysis") or _INFO.fullmatch(path.name)
    return bool(known or is_database(path)) and path.stat().st_size == 0


def _around(output: Path) -> Path:
    """The folder with the profiler's own notes: the parent of an output folder given by itself."""
    return output.parent if output.name == OUTPUT else output


def _rank(info_file: Path | None, info: dict[str, Any], database: Path | None) -> int | None:
    for path in (info_file, database):
        match = _RANK.search(path.name) if path else None
        if match:
            return int(match[1])
    recorded = str(info.get("rank_id"))
    return int(recorded) if re.fullmatch(r"\d{1,6}", recorded) else None


def is_database(path: Path) -> bool:
    """Whether a file is called as the profiler calls its database."""
    return _DATABASE.fullmatch(path.name) is not None


def rank_in_name(name: str) -> int | None:
    """The rank in the name of a file such as `ascend_pytorch_profiler_3.db`."""
    match = _RANK.search(name)
    return int(match[1]) if match else None


def _databases(folder: Path) -> list[Path]:
    return [path for path in _listed(folder) if _DATABASE.fullmatch(path.name)]


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
    """The object in a small JSON file; None if it is none. `N/A` stands for null."""
    try:
        if path.stat().st_size > _SMALL:
            return None
        text = path.read_text(encoding="utf-8", errors="replace")
        value = json.loads(re.sub(r"(?<=[:,\[\s])N/A(?=\s*[,}\]])", "null", text), strict=False)
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
