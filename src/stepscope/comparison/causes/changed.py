"""What changed in rows that hold times and calls of both sides: other calls, more of them, or longer ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepscope.language import pattern, said

Row = dict[str, Any]

#: What rows are counted in.
CALLS: Final = pattern("{number} calls")
LAUNCHES: Final = pattern("{number} launches")

#: Share of a difference that a group of rows must make up to be what it comes from.
_MOST: Final = 0.75
#: Calls or times per call that differ by less than this share are the same.
_SAME: Final = 0.02
#: Share of the base's time whose rows must have changed by one factor for that to be said of all, how near; rows.
_ALL: Final = 0.9
_NEAR: Final = 0.04
_SEVERAL: Final = 3
#: Of a large change, how near: as a part of it.
_NEAR_OF_MUCH: Final = 10
#: Names listed of a group, at most, and characters of each.
_NAMED: Final = 2
_LONG: Final = 40


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of both sides together.

    Attributes:
        name: What they are.
        rows: Them.
    """

    name: str
    rows: tuple[Row, ...]

    def total(self, column: str) -> float:
        """Sum of a column."""
        return float(sum(row[column] for row in self.rows))

    @property
    def diff(self) -> float:
        """New minus base, ns."""
        return self.total("new_ns") - self.total("base_ns")


def grouped(rows: Sequence[Row], key: Callable[[Row], str]) -> list[RowGroup]:
    """Rows by key, the largest difference first."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    groups = [RowGroup(name, tuple(members)) for name, members in found.items()]
    return sorted(groups, key=lambda group: (-abs(group.diff), group.name))


def decisive_group(rows: Sequence[Row], keys: Sequence[Callable[[Row], str]]) -> RowGroup | None:
    """The group that makes up most of the difference, by the first key that has one; None if none has."""
    whole = sum(row["new_ns"] - row["base_ns"] for row in rows)
    if not whole:
        return None
    for key in keys:
        first = next(iter(grouped(rows, key)), None)
        if first is not None and _MOST <= first.diff / whole <= 2 - _MOST:
            return first
    return None


def common_factor(rows: Sequence[Row]) -> float | None:
    """By which factor nearly all of the time changed, call by call; None where that is not so."""
    base = sum(row["base_ns"] for row in rows)
    both = [row for row in rows if row["base_ns"] and row["new_ns"] and _alike(row["base_count"], row["new_count"])]
    kept = sum(row["base_ns"] for row in both)
    if len(both) < _SEVERAL or kept < _ALL * base:
        return None
    factor = sum(row["new_ns"] for row in both) / kept
    # What did not change at all must not be near what is said of all.
    near = min(max(_NEAR, abs(factor - 1) / _NEAR_OF_MUCH), abs(factor - 1) / 2)
    kept = sum(row["base_ns"] for row in both if abs(row["new_ns"] / row["base_ns"] / factor - 1) <= near)
    return factor if kept >= _ALL * base and abs(factor - 1) > _SAME / 2 else None


def changed_words(group: RowGroup, name: Callable[[Row], str], calls: str = CALLS) -> str:
    """How a group changed: `batch norm × 1.50`, `53 → 106 calls`, `a → b, c, together × 1.20`.

    Args:
        group: The rows.
        name: Names of single rows.
        calls: What rows are counted in: one of `CALLS` or `LAUNCHES`.
    """
    base_ns, new_ns = group.total("base_ns"), group.total("new_ns")
    base_count, new_count = group.total("base_count"), group.total("new_count")
    gone = [row for row in group.rows if row["base_count"] and not row["new_count"]]
    come = [row for row in group.rows if row["new_count"] and not row["base_count"]]
    # What other operators call than before has not changed its name.
    moved = {*map(name, gone)} & {*map(name, come)}
    gone, come = ([row for row in rows if name(row) not in moved] for rows in (gone, come))
    swapped = sum(row["base_ns"] for row in gone), sum(row["new_ns"] for row in come)
    if min(swapped) > _MOST * max(base_ns, new_ns) / 2:
        counts = "" if _alike(base_count, new_count) else _from_to(base_count, new_count, calls)
        change: str = said("{gone} → {come}", gone=_listed(gone, name), come=_listed(come, name))
        if counts:
            change = said("{change}, {calls}", change=change, calls=counts)
        return said("{change}, together × {factor:.2f}", change=change, factor=new_ns / base_ns) if base_ns else change
    if not base_count:
        return said("{name}: new, {calls}", name=group.name, calls=said(calls, number=_number(new_count)))
    if not new_count:
        return said("{name}: gone, {calls}", name=group.name, calls=said(calls, number=_number(base_count)))
    each = (new_ns / new_count) / (base_ns / base_count) if base_ns else 0.0
    if _alike(base_count, new_count):
        return said("{name} × {factor:.2f}", name=group.name, factor=each)
    words = said("{name}: {change}", name=group.name, change=_from_to(base_count, new_count, calls))
    if not base_ns or _alike(each, 1):
        return words
    return said("{change}, each × {factor:.2f}", change=words, factor=each)


def _from_to(base: float, new: float, calls: str) -> str:
    return said(calls, number=f"{_number(base)} → {_number(new)}")


def names_words(group: RowGroup, name: Callable[[Row], str]) -> str:
    """The names of the rows that make up most of a group's difference."""
    named = grouped(group.rows, name)
    whole, reached, found = group.diff, 0.0, []
    for one in named[:_NAMED]:
        found.append(short(one.name))
        reached += one.diff
        if whole and reached / whole >= _MOST:
            break
    return ", ".join(found)


def short(name: str) -> str:
    """A name of at most so many characters."""
    return name if len(name) <= _LONG else name[: _LONG - 1] + "…"


def _listed(rows: Sequence[Row], name: Callable[[Row], str]) -> str:
    names = dict.fromkeys(short(name(row)) for row in sorted(rows, key=lambda row: -row["base_ns"] - row["new_ns"]))
    first, left = ", ".join([*names][:_NAMED]), len(names) - _NAMED
    return said("{names} and {left} more", names=first, left=left) if left > 0 else first


def calls_alike(one: float, other: float) -> bool:
    """Whether there are as many calls per step on both sides, but for one in fifty."""
    return _alike(one, other)


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * max(abs(one), abs(other))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value - round(value)) < 0.05 else f"{value:,.1f}"
