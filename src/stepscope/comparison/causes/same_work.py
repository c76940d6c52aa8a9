"""Recordings without steps, which hold different amounts of work: both sides as if they had done as much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stepscope.comparison.causes.groups import WorkSums
from stepscope.comparison.noise.ratio import RatioInterval
from stepscope.comparison.parts.amounts import Beside
from stepscope.model.table import Table


@dataclass(frozen=True, slots=True)
class SameWork:
    """What the new side would hold if it had done as much as the base.

    Attributes:
        factor: By what its sums are multiplied.
        apart: By how much that may be wrong, as a share: as far as the rates of single kernels are from their median.
    """

    factor: float
    apart: float

    @classmethod
    def of(cls, rates: RatioInterval, base_ns: int, new_ns: int) -> SameWork:
        """From the ratio of the times that the same work takes, and the lengths of both recordings."""
        apart = max(rates.high / rates.ratio, rates.ratio / rates.low) - 1
        return cls(rates.ratio * base_ns / max(1, new_ns), apart)

    def part(self, one: Beside[str]) -> Beside[str]:
        """A part of the recording."""
        new_ns = round(one.new_ns * self.factor)
        return replace(one, new_ns=new_ns, half=self.half(one.half, one.new_ns))

    def half(self, half: float | None, new_ns: int) -> float | None:
        """Half of the interval of a difference, what is not known of the amount of work included."""
        return None if half is None else half * max(1.0, self.factor) + self.apart * self.factor * new_ns

    def sums(self, sums: WorkSums) -> WorkSums:
        """Sums of activities."""
        return {
            part: (base, {key: amount.scaled(self.factor) for key, amount in new.items()})
            for part, (base, new) in sums.items()
        }

    def tables(self, tables: Mapping[str, Table], names: Sequence[str]) -> dict[str, Table]:
        """The tables of these names."""
        return {name: self._table(tables[name]) for name in names if name in tables}

    def _table(self, table: Table) -> Table:
        types = {column.name: column.type for column in table.schema.columns}

        def scaled(row: dict[str, Any]) -> tuple[Any, ...]:
            for name, type in types.items():
                if name.startswith("new_") and row[name] is not None:
                    row[name] = row[name] * self.factor if type == "float64" else round(row[name] * self.factor)
            if "diff_ns" in row:
                row["diff_ns"] = row["new_ns"] - row["base_ns"]
            return tuple(row[name] for name in types)

        return Table.from_rows(table.schema, [scaled(dict(row)) for row in table.records()])
