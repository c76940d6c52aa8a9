"""Table declarations: columns with a type, a unit and a description."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Type = Literal["int64", "int32", "float64", "string", "bool", "int32[]", "int64[]", "string[]"]
Unit = Literal["", "ns", "bytes", "count", "fraction", "FLOP", "FLOP/s", "bytes/s", "id", "FLOP/byte"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: Name in SQL, Parquet and JSON.
        type: Logical type; time is always `int64`.
        description: What a value means, and what null means where null is possible.
        unit: Unit of the values, empty for plain text and numbers.
        nullable: Whether null may occur.
        signed: Whether negative values mean something; points in time may always be negative.
    """

    name: str
    type: Type
    description: str
    unit: Unit = ""
    nullable: bool = False
    signed: bool = False


@dataclass(frozen=True)
class TableSchema:
    """A named table and its columns, in order."""

    name: str
    description: str
    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    def to_json(self) -> list[dict[str, str]]:
        """The columns as JSON values."""
        return [{"name": c.name, "type": c.type, "unit": c.unit, "description": c.description} for c in self.columns]

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name} has no column {name}")


def ns(name: str, description: str, *, nullable: bool = False, signed: bool = False) -> Column:
    """A duration or point in time in integer nanoseconds."""
    return Column(name, "int64", description, "ns", nullable, signed)


def count(name: str, description: str) -> Column:
    """A number of things."""
    return Column(name, "int64", description, "count")


def size(name: str, description: str, *, nullable: bool = False) -> Column:
    """A number of bytes."""
    return Column(name, "int64", description, "bytes", nullable)


def ident(name: str, description: str, *, nullable: bool = False) -> Column:
    """A reference to a row of another table."""
    return Column(name, "int64", description, "id", nullable)


def text(name: str, description: str, *, nullable: bool = False) -> Column:
    """A string."""
    return Column(name, "string", description, "", nullable)


def fraction(name: str, description: str, *, nullable: bool = False, signed: bool = False) -> Column:
    """A ratio, 0 to 1 unless the description says otherwise."""
    return Column(name, "float64", description, "fraction", nullable, signed)


def number(name: str, description: str, unit: Unit = "", *, nullable: bool = False) -> Column:
    """A floating-point number that is not a time."""
    return Column(name, "float64", description, unit, nullable)


def flag(name: str, description: str, *, nullable: bool = False) -> Column:
    """True or false."""
    return Column(name, "bool", description, "", nullable)


def summary_columns(what: str, share_of: str) -> tuple[Column, ...]:
    """The leading columns of every table aggregated by name."""
    return (
        text("name", f"Name of the {what}."),
        count("count", f"How many times the {what} occurred."),
        ns("total_ns", "Sum of the durations."),
        ns("mean_ns", "Mean duration, rounded down to whole nanoseconds."),
        ns("median_ns", "Median duration (the lower of the two middle ones)."),
        ns("min_ns", "Shortest duration."),
        ns("max_ns", "Longest duration."),
        fraction("share", f"total_ns as a share of {share_of}."),
    )
