"""Kernels of a comparison: beside each other by name, or below their operators where few have the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from stepscope.language import said
from stepscope.model.kernel_names import classify
from stepscope.reports.blocks import Grid, Heading
from stepscope.reports.compared.cells import (
    beside_headings,
    beside_row,
    calls_words,
    certain_heading,
    certain_words,
    row_half,
)
from stepscope.reports.text import visible
from stepscope.reports.units import Scale, time_scale

TABLE: Final = "compute_kernels"
#: Share of the time that kernels of both sides must have for them to stand beside each other by name alone.
_COMMON: Final = 0.5
#: Kernels shown below an operator, at most.
_BELOW: Final = 4


class _Pair:
    """What both sides have of something: time as ns, and calls per step."""

    def __init__(self) -> None:
        self.base_ns = self.new_ns = 0
        self.base_count = self.new_count = 0.0
        self.half: float | None = 0.0

    def add(self, one: dict[str, Any]) -> None:
        self.base_ns += one["base_ns"]
        self.new_ns += one["new_ns"]
        self.base_count += one["base_count"]
        self.new_count += one["new_count"]
        half = row_half(one)
        # What rows of one kernel vary by may add up, as when all of them run on a slower clock.
        self.half = None if half is None or self.half is None else self.half + half

    @property
    def there(self) -> tuple[bool, bool]:
        return bool(self.base_count or self.base_ns), bool(self.new_count or self.new_ns)

    @property
    def order(self) -> tuple[int, int]:
        return -abs(self.new_ns - self.base_ns), -self.new_ns


def kernel_grid(listed: Sequence[dict[str, Any]], top: int) -> Grid:
    """Kernels without parameters of templates, variants of one together, the largest differences first."""
    whole = sum(one["base_ns"] for one in listed)
    kernels = _sums(listed, lambda one: visible(classify(one["kernel"]).short))
    times = [pair.base_ns + pair.new_ns for pair in kernels.values()]
    common = sum(pair.base_ns + pair.new_ns for pair in kernels.values() if all(pair.there))
    if common >= _COMMON * sum(times):
        shown = list(kernels.items())[:top]
        one = _scale(pair for _, pair in shown)
        rows = tuple(_cells(name, pair, one, whole) for name, pair in shown)
        return _grid(said("kernel"), one, rows, len(kernels) - len(shown))
    operators = _sums(listed, lambda one: visible(one["operator"]))
    one = _scale(list(operators.values())[:top])
    found: list[tuple[str, ...]] = []
    for name, pair in list(operators.items())[:top]:
        mine = [each for each in listed if visible(each["operator"]) == name]
        below = _sums(mine, lambda each: visible(classify(each["kernel"]).short))
        if len(below) == 1:
            found.append(_cells(f"{name} / {next(iter(below))}", pair, one, whole))
            continue
        found.append(_cells(name, pair, one, whole))
        largest = sorted(below.items(), key=lambda item: -max(item[1].base_ns, item[1].new_ns))[:_BELOW]
        found += [_cells(f"  {kernel}", each, one, whole) for kernel, each in largest]
    return _grid(said("operator and its kernels"), one, tuple(found), max(0, len(operators) - top))


def _sums(listed: Sequence[dict[str, Any]], key: Callable[[dict[str, Any]], str]) -> dict[str, _Pair]:
    found: dict[str, _Pair] = {}
    for one in listed:
        found.setdefault(key(one), _Pair()).add(one)
    return dict(sorted(found.items(), key=lambda item: (*item[1].order, item[0])))


def _scale(pairs: Iterable[_Pair]) -> Scale:
    return time_scale([time for pair in pairs for time in (pair.base_ns, pair.new_ns)])


def _cells(name: str, pair: _Pair, one: Scale, whole: int) -> tuple[str, ...]:
    counts = (calls_words(pair.base_count), calls_words(pair.new_count))
    sure = certain_words(pair.half, pair.new_ns - pair.base_ns, one)
    return (*beside_row(name, pair.base_ns, pair.new_ns, one, whole, pair.there), sure, *counts)


def _grid(caption: str, one: Scale, rows: tuple[tuple[str, ...], ...], hidden: int) -> Grid:
    heads = (
        *beside_headings(caption, one, said("compute")), certain_heading(one), Heading(said("calls"), rank=4),
        Heading(said("new"), rank=4),
    )  # fmt: skip
    return Grid(heads, rows, caption, hidden, TABLE, whole=True)
