"""Samples of processors: in which functions the threads were that call something."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from stepscope.readers.nsight.loader import ExportLoader
from stepscope.readers.sqlite.columns import Columns

_SAMPLES: Final = Columns(ints=("id", "start", "globalTid"))
_FRAMES: Final = Columns(ints=("id", "symbol", "module", "unresolved", "specialEntry", "stackDepth"))
_TABLES: Final = (
    "CREATE TABLE nsight_samples (id BIGINT, ts BIGINT, track INTEGER)",
    "CREATE TABLE nsight_frames (sample BIGINT, depth BIGINT, symbol BIGINT, module BIGINT)",
)
#: Threads without a call of anything have no track, and wait in pools of libraries.
_KEEP_SAMPLES: Final = """
INSERT INTO nsight_samples SELECT c.id, c.start, t.track FROM chunk c
JOIN nsight_threads t ON t.global_tid = c.globalTid WHERE c.start IS NOT NULL
"""
_KEEP_FRAMES: Final = """
INSERT INTO nsight_frames
SELECT id, stackDepth, CASE WHEN coalesce(unresolved, 0) = 0 THEN symbol END, module FROM chunk
WHERE coalesce(specialEntry, 0) = 0 AND id IN (SELECT id FROM nsight_samples)
"""
_PLACES: Final = """
SELECT DISTINCT f.symbol, f.module, s.value AS name, m.value AS file FROM nsight_frames f
LEFT JOIN nsight_strings s ON s.id = f.symbol LEFT JOIN nsight_strings m ON m.id = f.module ORDER BY ALL
"""
#: Functions without a name of one library count as one.
_STAGE: Final = """
INSERT INTO samples BY NAME
SELECT any_value(ts) AS ts, any_value(track) AS track, string_agg(function, ';' ORDER BY depth) AS stack
FROM (
    SELECT s.id, s.ts, s.track, f.depth, n.function,
        lag(n.function) OVER (PARTITION BY s.id ORDER BY f.depth) AS inner_one
    FROM nsight_frames f JOIN nsight_samples s ON s.id = f.sample
    JOIN sampled n ON n.symbol IS NOT DISTINCT FROM f.symbol AND n.module IS NOT DISTINCT FROM f.module
) WHERE function IS DISTINCT FROM inner_one GROUP BY id ORDER BY any_value(ts), id
"""
#: Frames that stand for what could not be found out, and the operating system's.
_NOWHERE: Final = re.compile(r"^\[|^$|kallsyms|vmlinux|\.ko$|^(0x)?[0-9a-f]{8,}$")
_INTERPRETER: Final = re.compile(r"^(lib)?python\d?(\.\d+)?|^python(\.exe|\d+\.dll)$", re.IGNORECASE)
_VERSION: Final = re.compile(r"(\.so)[.\d]*$|(-[0-9a-f]{8,})?(?=\.so|\.dll)")

_UNNAMED: Final = "(anonymous namespace)"
_LONGEST: Final = 200


def load_samples(loader: ExportLoader) -> None:
    """Stage the samples of threads that have a track, with the functions that have a name."""
    if not all(loader.tables.rows(table) for table in ("COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS")):
        return
    connection = loader.staging.connection
    for statement in _TABLES:
        connection.execute(statement)
    for _ in loader.chunks("COMPOSITE_EVENTS", _SAMPLES):
        connection.execute(_KEEP_SAMPLES)
    for _ in loader.chunks("SAMPLING_CALLCHAINS", _FRAMES):
        connection.execute(_KEEP_FRAMES)
    rows = connection.execute(_PLACES).fetchall()
    named = [(symbol, module, function(name, file)) for symbol, module, name, file in rows]
    named = [row for row in named if row[2]]
    columns = {
        "symbol": pa.array([row[0] for row in named], pa.int64()),
        "module": pa.array([row[1] for row in named], pa.int64()),
        "function": pa.array([row[2] for row in named], pa.string()),
    }
    connection.register("sampled", pa.table(columns))
    connection.execute(_STAGE)
    connection.unregister("sampled")


def function(name: str | None, file: str | None) -> str:
    """How a frame is called: `hydro` of `hydro(global_variables&)`, `libcuda.so` of what has no name in it.

    Args:
        name: The symbol as recorded; None if it was not found.
        file: The binary or library; None if that is not known.

    Returns:
        The qualified name of the function without its arguments; the library where the function has no name; `Python`
        for the interpreter; empty for what tells nothing, such as the operating system's own functions.
    """
    base = re.split(r"[/\\]", file or "")[-1]
    if _NOWHERE.search(base) or (not base and name is None):
        return ""
    if _INTERPRETER.search(base):
        return "Python"
    if name is None or _NOWHERE.search(name):
        return _VERSION.sub(r"\1", base)
    return _qualified(name)[:_LONGEST]


def _qualified(name: str) -> str:
    """A demangled name without type of the result, arguments of templates and parameters."""
    kept, opened = list[str](), list[str]()
    for one in name.replace(_UNNAMED, "{anonymous}").replace("operator<", "operator").replace("->", ""):
        if one in "<(":
            opened.append(one)
        elif not opened:
            kept.append(one)
        elif opened[-1] + one in ("<>", "()"):
            opened.pop()
    words = [word for word in "".join(kept).split() if word not in ("const", "[clone", "&", "*")]
    return (words[-1] if words else name).replace("{anonymous}", _UNNAMED).replace(";", ",").lstrip("*&")
