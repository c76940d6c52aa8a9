"""Cells of tables that hold base beside new: the headings, and a row of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.language import said
from stepscope.model.amounts import NONE, between, percent
from stepscope.reports.blocks import Heading
from stepscope.reports.units import Scale


def certain_heading(one: Scale) -> Heading:
    """Of the column that `certain_words` fills."""
    return Heading(f"± {one.label}".rstrip(), rank=1)


def headed(text: str, one: Scale) -> str:
    """A heading with the unit of its column."""
    return said("{heading} {unit}", heading=text, unit=one.label) if one.label else text


def ratio_between(low: float, high: float | None) -> str:
    """An interval of a ratio by its ends, the upper one None where it is open."""
    return between(f"{low:.2f}", NONE if high is None else f"{high:.2f}")


def certain_words(half: float | None, diff: int, one: Scale) -> str:
    """Half of the interval of a difference; in brackets where that is within the noise."""
    if half is None:
        return NONE
    return one.write(round(half)) if abs(diff) > half else f"({one.write(round(half))})"


def row_half(row: Mapping[str, Any]) -> float | None:
    """Half of the interval of a row's difference; None where it has none."""
    return None if row.get("low_ns") is None else (row["high_ns"] - row["low_ns"]) / 2


def beside_headings(what: str, one: Scale, whole: str) -> tuple[Heading, ...]:
    """Of the columns that `beside_row` fills.

    Args:
        what: What a row is.
        one: How times are written.
        whole: What the last column is a share of, on the base.
    """
    return (
        Heading(what, number=False), Heading(headed(said("base"), one)), Heading(headed(said("new"), one)),
        Heading(headed(said("diff"), one)), Heading(said("ratio"), rank=2),
        Heading(said("of {whole}", whole=whole), rank=3),
    )  # fmt: skip


def beside_row(
    name: str, base: int, new: int, one: Scale, whole: int, there: tuple[bool, bool] = (True, True)
) -> tuple[str, ...]:
    """A row of text; a difference has a sign.

    Args:
        name: What it is.
        base: Time of the base.
        new: Time of the new side.
        one: How times are written.
        whole: Time of the base's whole.
        there: Whether either side has it at all.
    """
    share = signed(percent((new - base) / whole)) if whole else NONE
    times = [one.write(time) if known else NONE for time, known in zip((base, new), there, strict=True)]
    return (name, *times, signed(one.write(new - base)), ratio_words(base, new, there), share)


def signed(number: str) -> str:
    """A difference that is written without a plus; what rounds to nothing has no sign."""
    if not any(digit in number for digit in "123456789"):
        return number.removeprefix("-")
    return number if number.startswith("-") else f"+{number}"


def ratio_words(base: int, new: int, there: tuple[bool, bool] = (True, True)) -> str:
    """New over base; `new` and `gone` where one side has none of it."""
    if not there[1] and base:
        return said("gone")
    return f"{new / base:,.{2 if new < 1000 * base else 0}f}" if base else said("new") if new else NONE


def calls_words(number: float) -> str:
    """A mean number of calls."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"
