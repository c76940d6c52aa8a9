"""A sweep: its recordings in order, their tables, and its series to be plotted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from stepscope.comparison.comparable import RecordedDifference, differences
from stepscope.comparison.sweep.axis import SweepAxis, axis_of
from stepscope.comparison.sweep.point import SweepPoint
from stepscope.comparison.sweep.tables import parts_table, sweep_table
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.model.table import Table

SCHEMA: Final = "stepscope.sweep/1"
#: Differences that a sweep is about, or that say nothing about its figures.
_EXPECTED: Final = ("batch", "world size", "ranks recorded", "rank")
#: Columns of table `sweep` that a plot has as curves, with their units.
_CURVES: Final = {
    "throughput": "", "speedup": "", "efficiency": "", "step_ns": "ns", "compute_ns": "ns", "exposed_comm_ns": "ns",
    "exposed_copy_ns": "ns", "idle_ns": "ns", "peak_bytes": "bytes", "peak_reserved_bytes": "bytes",
}  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Sweep:
    """Several recordings in the order of their batch sizes or numbers of ranks.

    Attributes:
        axis: What they are ordered by.
        points: The recordings, in the order of the axis.
        different: What else differs from the first recording, by the position of the other one in `points`.
        tables: `sweep` and `sweep_parts`.
    """

    axis: SweepAxis
    points: tuple[SweepPoint, ...]
    different: tuple[tuple[int, RecordedDifference], ...]
    tables: Mapping[str, Table]

    def table(self, name: str) -> Table:
        """One of the tables.

        Raises:
            UserError: There is no such table.
        """
        if name not in self.tables:
            message = said("the sweep has no table called {name!r}", name=name)
            raise UserError(message, hint=choose(name, self.tables))
        return self.tables[name]

    def series(self) -> list[dict[str, Any]]:
        """A curve per column that some recording has: `name`, `unit`, `x` (as `axis.at`) and `y` (null if unknown)."""
        rows = self.tables["sweep"].records()
        units = _CURVES | {"throughput": f"{rows[0]['items']}/s"}
        curves = [
            {"name": name, "unit": unit, "x": list(self.axis.at), "y": [row[name] for row in rows]}
            for name, unit in units.items()
        ]
        return [one for one in curves if any(value is not None for value in one["y"])]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, see `docs/compare.md`."""
        return {
            "schema": SCHEMA,
            "axis": asdict(self.axis),
            "points": [{"at": at, **asdict(point.summary.facts)}
                       for at, point in zip(self.axis.at, self.points, strict=True)],
            "comparable": [{"at": self.axis.at[i], **asdict(one)} for i, one in self.different],
            "series": self.series(),
            "tables": {name: table.to_json() for name, table in self.tables.items()},
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<stepscope.Sweep: {len(self.points)} recordings by {self.axis.name}; tables {', '.join(self.tables)}>"


def sweep_of(points: Sequence[SweepPoint], at: Sequence[int] = (), by: str | None = None) -> Sweep:
    """Put recordings in order, and beside each other.

    Args:
        points: At least one recording.
        at: Their batch sizes or numbers of ranks; empty for what is recorded.
        by: One of `AXES`; None for what differs.

    Raises:
        UserError: The batch is asked for, and not recorded.
    """
    found = axis_of(points, at, by)
    order = sorted(range(len(points)), key=lambda i: found.at[i])
    axis = SweepAxis(found.name, found.label, found.given, tuple(found.at[i] for i in order))
    ordered = tuple(points[i] for i in order)
    first = ordered[0].summary
    different = tuple(
        (i, one)
        for i, point in enumerate(ordered[1:], 1)
        for one in differences(
            first.recorded, point.summary.recorded, (first.operators, point.summary.operators)
        )
        if not _expected(axis, one)
    )  # fmt: skip
    tables = {table.schema.name: table for table in (sweep_table(ordered, axis), parts_table(ordered, axis))}
    return Sweep(axis, ordered, different, tables)


def _expected(axis: SweepAxis, one: RecordedDifference) -> bool:
    """Whether something differs as it must: more ranks make DDP of what was run."""
    if one.what == "what was run" and axis.name == "ranks":
        return one.base.split(", ")[0] == one.new.split(", ")[0]
    return one.what in _EXPECTED
