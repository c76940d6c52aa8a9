"""Requested columns of a table, and conversion of stored values to their types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

#: All bits of an unsigned number: SQLite stores it as the nearest double, 2^64. As a signed number it is -1.
_ALL_BITS: Final = 2.0**64

#: Rows per chunk: about 30 MB for the widest tables.
CHUNK_ROWS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Columns:
    """Requested columns of a table by type; missing ones become nulls.

    Attributes:
        ints: Integers: times, ids, sizes.
        texts: Texts.
        floats: Floating-point numbers.
        blobs: Bytes.
    """

    ints: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    floats: tuple[str, ...] = ()
    blobs: tuple[str, ...] = ()

    def types(self) -> dict[str, pa.DataType]:
        """Arrow type of each column by name."""
        groups = ((self.ints, pa.int64()), (self.texts, pa.string()), (self.floats, pa.float64()))
        return {name: kind for names, kind in (*groups, (self.blobs, pa.binary())) for name in names}


def arrow_column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Convert stored values of any type to a column of `kind`; those that don't fit become null.

    Text comes as bytes; undecodable ones become U+FFFD.
    """
    try:
        return as_text(pa.array(values, pa.binary())) if kind == pa.string() else pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([_coerced(value, kind) for value in values], kind)


def as_text(values: pa.Array) -> pa.Array:
    """Decode bytes as UTF-8; undecodable ones become U+FFFD."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_coerced(value, pa.string()) for value in values.to_pylist()], pa.string())


def _coerced(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if kind == pa.string():
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if kind == pa.binary():
        return value if isinstance(value, bytes) else None
    if value == _ALL_BITS and kind == pa.int64():
        return -1
    try:
        number = float(value) if kind == pa.float64() else int(value)
    except (ValueError, OverflowError, TypeError):
        return None
    return number if kind == pa.float64() or -(2**63) <= number < 2**63 else None
