"""The first rows of a query's result, within limits: what a page or an agent may ask."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any, Final

import duckdb
import pyarrow as pa

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.process.memory_limit import is_out_of_memory, memory_limited
from stepscope.model.process.sandbox import failure
from stepscope.model.trace import Trace

#: Rows that are given, how long a query may take, s, and what memory it may use, MB.
_MOST: Final = 10_000
_SECONDS: Final = 60.0
_MEMORY_MB: Final = 2000
#: Characters of a value that are given, and of all of them together.
_VALUE: Final = 20_000
_VALUES: Final = 16_000_000


def answer(
    trace: Trace, sql: str, *, most: int = _MOST, seconds: float = _SECONDS, memory_mb: int = _MEMORY_MB
) -> dict[str, Any]:
    """The first rows of a query's result; long values are cut.

    Args:
        trace: A trace that was opened locked.
        sql: One statement that only reads.
        most: Rows to give.
        seconds: When to stop it.
        memory_mb: What the process may use beyond what it has.

    Returns:
        Columns, rows, whether there are more, and the seconds it took.

    Raises:
        UserError: It is refused, fails, takes too long or too much.
    """
    own = trace.for_thread()
    started = monotonic()
    late = threading.Timer(seconds, own.interrupt)
    late.start()
    try:
        with memory_limited(memory_mb):
            columns, rows, more = _first_rows(own, sql, most)
    except (MemoryError, duckdb.Error, RuntimeError, pa.ArrowException) as error:
        if is_out_of_memory(error):
            raise UserError(
                said("the query needs more memory than {memory_mb:,} MB", memory_mb=memory_mb),
                hint="ask for less at a time",
            ) from error
        if monotonic() - started >= seconds:
            raise UserError(
                said("the query was stopped after {seconds:g} s", seconds=seconds),
                hint="`stepscope query` may take longer",
            ) from error
        raise failure(error) from error
    finally:
        late.cancel()
    return {
        "description": "", "columns": columns, "rows": rows, "more": more, "seconds": round(monotonic() - started, 3),
    }  # fmt: skip


def _first_rows(trace: Trace, sql: str, most: int) -> tuple[list[dict[str, str]], list[list[Any]], bool]:
    """Columns, at most so many rows of at most so many characters, and whether there are more."""
    trace.check_reads_only(sql)
    batches = trace.batches(sql, rows=min(most + 1, 2048))
    columns = [_column(field.name, str(field.type)) for field in batches.schema]
    rows: list[list[Any]] = []
    room = _VALUES
    for batch in batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            row = [_short(value) for value in values]
            room -= sum(len(value) for value in row if isinstance(value, str))
            if len(rows) == most or room < 0:
                return columns, rows, True
            rows.append(row)
    return columns, rows, False


def _short(value: Any) -> Any:
    """A value, cut where it is long; long lists and structures as text."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else str(value)
    if len(text) > _VALUE:
        return text[: _VALUE - 1] + "…"
    return value if isinstance(value, (list, dict)) else text


def _column(name: str, kind: str) -> dict[str, str]:
    """A column of a result; names that end in a unit have it."""
    numbers = {"int64": "int64", "int32": "int32", "double": "float64", "float": "float64", "bool": "bool"}
    unit = "ns" if name.endswith("_ns") or name in ("ts", "dur") else "bytes" if name.endswith("bytes") else ""
    known = numbers.get(kind, "float64" if kind.startswith("decimal") else "int64" if "int" in kind else "string")
    return {"name": name, "type": known, "unit": unit if known in ("int64", "float64") else "", "description": kind}
