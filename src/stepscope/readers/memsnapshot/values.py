"""Convert untrusted values to the types of the tables."""

from __future__ import annotations

from typing import Any, Final

_INT64: Final = 1 << 63
#: Sums and differences of a few values below this fit into 64 bits.
LIMIT: Final = 1 << 61
#: No device has so much memory (16 TiB).
LARGEST: Final = 1 << 44


def integer(value: Any) -> int | None:
    """The value if it is an integer that fits 64 bits, else None."""
    return value if type(value) is int and -_INT64 <= value < _INT64 else None


def address(value: Any) -> int | None:
    """An address as a signed integer (the upper half is negative); None if it is not valid."""
    if type(value) is int and _INT64 <= value < 2 * _INT64:
        value -= 2 * _INT64
    return value if type(value) is int and -LIMIT < value < LIMIT else None


def natural(value: Any, limit: int = LIMIT) -> int | None:
    """The value if it is an integer from 0 up to below `limit`, else None."""
    return value if type(value) is int and 0 <= value < limit else None


def size(value: Any) -> int | None:
    """The value if it is a valid number of bytes, else None."""
    return natural(value, LARGEST)


def device(value: Any) -> int:
    """A device's index; 0 if it is not valid."""
    return natural(value, 1 << 16) or 0


def pool_name(value: Any) -> str | None:
    """A private pool's id as `graph.user`; None for the default pool and where it is not recorded."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    graph, user = integer(value[0]), integer(value[1])
    return None if graph is None or user is None or (graph, user) == (0, 0) else f"{graph}.{user}"
