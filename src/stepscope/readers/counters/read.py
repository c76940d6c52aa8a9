"""Read results of kernel profilers into table `kernel_counters`, and as launches that follow each other."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.model.kernel_names.parse import parse
from stepscope.model.recording import Recording
from stepscope.readers import content
from stepscope.readers.counters import msprof_op, ncu, rocprof
from stepscope.readers.counters.detection import cells_of, tool_of
from stepscope.readers.counters.inputs import NAME
from stepscope.readers.counters.launch import ProfiledLaunch
from stepscope.readers.protocol import Progress, Source
from stepscope.store.staging import Staging

#: Most bytes of a table; a thousand launches with all their counters take 20 MB.
_MOST_BYTES: Final = 512 << 20
_MOST_LAUNCHES: Final = 100_000


def read(source: Source, staging: Staging, progress: Progress) -> Recording:
    """Stage the profiled launches and their counters.

    Raises:
        UnusableInputError: There is none.
    """
    found = list(_launches(source, progress))[:_MOST_LAUNCHES]
    if not found:
        raise UnusableInputError(
            said("{source} can't be used: it holds no counters of a kernel", source=source),
            hint="give what ncu --csv, msprof op or rocprof-compute profile wrote, whole",
        )
    staging.observe(
        "values-unreadable", "warning", sum(one.drop_impossible() for one in found),
        "durations, sizes or devices of launches are negative, or too large to be right",
        "they count as not recorded; profile the kernels again",
    )  # fmt: skip
    _stage(staging, found)
    staging.observe(
        "launches-alone", "info", len(found), "launches were profiled, each by itself",
        "what lies between them is not known; give the recording of the job together with them",
    )  # fmt: skip
    return Recording(str(source), NAME, attributes={"tool": found[0].tool})


def _launches(source: Source, progress: Progress) -> Iterator[ProfiledLaunch]:
    path = source.path
    if path.is_dir():
        yield from _of_folder(path)
        return
    text = b"".join(_bounded(source, progress)).decode("utf-8", "replace").removeprefix("\ufeff")
    tool = tool_of(text.encode("utf-8", "replace"))
    if tool == msprof_op.TOOL:
        yield from _of_folder(path.parent) if (path.parent / f"{msprof_op.BASIC}.csv").is_file() else ()
        return
    module = ncu if tool == ncu.TOOL else rocprof
    lines = text.splitlines(keepends=True)
    at = next((n for n, line in enumerate(lines) if module.is_header(cells_of(line))), len(lines))
    header = cells_of(lines[at]) if at < len(lines) else []
    rows = _rows(line for line in lines[at + 1 :] if not line.startswith("=="))
    if tool == ncu.TOOL:
        yield from ncu.launches(rows, header)
    else:
        yield from (rocprof.launch_of(dict(zip(header, cells, strict=False))) for cells in rows if len(cells) > 1)


def _of_folder(folder: Path) -> Iterator[ProfiledLaunch]:
    """The kernel that `msprof op` wrote into a folder."""
    basic = _table(folder / f"{msprof_op.BASIC}.csv")
    if not basic:
        return
    found = msprof_op.launch_of(basic[0])
    for name in msprof_op.FILES[1:]:
        msprof_op.add_cores(found, _table(folder / f"{name}.csv"))
    yield found


def _table(path: Path) -> list[dict[str, str]]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return []
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return []
    rows = list(_rows(io.StringIO(text)))
    return [dict(zip([cell.strip() for cell in rows[0]], cells, strict=False)) for cells in rows[1:]] if rows else []


def _bounded(source: Source, progress: Progress) -> Iterator[bytes]:
    total = 0
    for chunk in content.blocks(source, content.Damage(), progress):
        total += len(chunk)
        if total > _MOST_BYTES:
            return
        yield chunk


def _rows(lines: Any) -> Iterator[list[str]]:
    reader = csv.reader(lines)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        if cells:
            yield [cell.strip() for cell in cells]


def _stage(staging: Staging, found: list[ProfiledLaunch]) -> None:
    seen: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    names = staging.add_names(list(dict.fromkeys(one.name for one in found)))
    now = 0
    for number, one in enumerate(found):
        base = parse(one.name).base or one.name
        told = {"launch": number, "tool": one.tool, "name": one.name, "base": base, "nth": seen[base], "dur": one.dur,
                "grid": one.grid, "block": one.block}  # fmt: skip
        seen[base] += 1
        rows += [{**told, "metric": metric, "value": value} for metric, value in one.values.items()]
        track = staging.track("device", device=one.device or 0, stream=one.tool)
        events.append({"id": number, "ts": now, "dur": one.dur or 0, "track": track, "name_id": names[one.name]})
        now += one.dur or 0
    staging.insert("kernel_counters", pa.Table.from_pylist(rows, _SCHEMA))
    staging.insert("raw_events", pa.Table.from_pylist([{**one, "category": "kernel"} for one in events]))
    kernels = [
        {"event": number, "kind": "compute", "grid": one.grid, "block": one.block,
         "registers": _whole(one.values.get("registers")), "shared_bytes": _whole(one.values.get("shared_bytes"))}
        for number, one in enumerate(found)
    ]  # fmt: skip
    staging.insert("raw_kernels", pa.Table.from_pylist(kernels, _KERNELS))


def _whole(value: float | None) -> int | None:
    return None if value is None or not 0 <= value < 2**31 else int(value)


_SIZES: Final = pa.list_(pa.int32())
_KERNELS: Final = pa.schema([
    ("event", pa.int64()), ("kind", pa.string()), ("grid", _SIZES), ("block", _SIZES), ("registers", pa.int32()),
    ("shared_bytes", pa.int64()),
])  # fmt: skip
_SCHEMA: Final = pa.schema([
    ("launch", pa.int32()), ("tool", pa.string()), ("name", pa.string()), ("base", pa.string()), ("nth", pa.int32()),
    ("dur", pa.int64()), ("grid", _SIZES), ("block", _SIZES), ("metric", pa.string()), ("value", pa.float64()),
])  # fmt: skip
