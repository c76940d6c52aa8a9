"""JSON values of any type as what an event should have: texts, integers, times."""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, Final

_ANY_SPACE: Final = re.compile(rb"\s")
#: A string, or white space outside of one.
_SPACE: Final = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")|\s+', re.S)
#: A string that stands for itself, as nearly all do: `json` takes three times as long for it.
_PLAIN: Final = re.compile(rb'"[ !#-\[\]-~]*"')
#: An integer in a text, with a sign or a fraction, or in hexadecimal digits.
_INTEGER: Final = re.compile(r"\s*([+-]?\d{1,40})\s*", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
#: Times beyond this are no times, in thousandths.
LIMIT: Final = 9_200_000_000_000_000_000
#: Digits in front of the point of larger times.
_DIGITS: Final = 17


def text(raw: bytes | None) -> str | None:
    """A value as text: that of a string, else the JSON without white space; None for no value.

    Args:
        raw: Valid JSON other than null, or None.
    """
    if raw is None:
        return None
    if raw[:1] not in b'"{[':
        return raw.decode()
    if _PLAIN.fullmatch(raw):
        return raw[1:-1].decode()
    try:
        value = json.loads(raw)
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):  # very many digits, or very deep
        return raw.decode()


def compact(raw: bytes | None) -> str | None:
    """A value as JSON without white space outside of its strings; None for no value."""
    if raw is None:
        return None
    return _SPACE.sub(lambda found: found[1] or b"", raw).decode() if _ANY_SPACE.search(raw) else raw.decode()


def integer(raw: bytes | None) -> int | None:
    """A value as an integer: numbers are rounded, strings may hold one; None for anything else."""
    value = _loaded(raw)
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, Decimal):
        return round(value) if value.is_finite() and value.adjusted() < 40 else None
    if isinstance(value, str):
        if _HEXADECIMAL.fullmatch(value):
            return int(value, 16)
        if found := _INTEGER.fullmatch(value):
            return int(found[1])
        number = _decimal(value)
        return round(number) if number is not None and number.adjusted() < 40 else None
    return None


def int64(raw: bytes | None) -> int | None:
    """`integer`, if it fits."""
    value = integer(raw)
    return value if value is not None and -(2**63) <= value < 2**63 else None


def thousandths(raw: bytes | None) -> int | None:
    """A number, or one in a string, in thousandths, at most `LIMIT`; None for anything else."""
    value = _loaded(raw)
    number = _decimal(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | Decimal):
        return None
    number = Decimal(number)
    if not number.is_finite():
        return None
    if number.adjusted() > _DIGITS:
        return -LIMIT if number < 0 else LIMIT
    return max(-LIMIT, min(LIMIT, int((number * 1000).to_integral_value(ROUND_HALF_UP))))


def identity(raw: bytes | None) -> str:
    """A process or thread: an integer in its shortest form, else the text; "" if there is none."""
    value = int64(raw)
    return str(value) if value is not None else text(raw) or ""


def _loaded(raw: bytes | None) -> Any:
    if raw is None or raw[:1] in b"{[":
        return None
    try:
        return json.loads(raw, parse_float=Decimal, parse_int=_whole)
    except ValueError:
        return None


def _whole(digits: str) -> int | Decimal:
    """An integer; Python refuses to convert very long ones."""
    return int(digits) if len(digits) < 40 else Decimal(digits)


def _decimal(value: str) -> Decimal | None:
    try:
        number = Decimal(value.strip())
    except (InvalidOperation, ValueError):
        return None
    return number if number.is_finite() else None
