"""Count what reading a database leaves out although nothing is damaged: values of other types, and views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from stepscope.language import said

if TYPE_CHECKING:
    from stepscope.store.staging import Staging

#: Columns that a line of health names.
_NAMED: Final = 5


@dataclass(slots=True)
class Losses:
    """What was left out of one database.

    Attributes:
        unfit: By (table, column): number of values that the column's type can't hold.
        unread: Why tables with these names were not read: `a view`.
    """

    unfit: Counter[tuple[str, str]] = field(default_factory=Counter)
    unread: dict[str, str] = field(default_factory=dict)

    def restart(self, table: str) -> None:
        """Forget the values of a table, which is read once more."""
        for key in [key for key in self.unfit if key[0] == table]:
            del self.unfit[key]

    def compare(self, table: str, column: str, stored: Sequence[Any], read: pa.Array) -> None:
        """Count the stored values of a column of which nothing was read."""
        lost = len(stored) - stored.count(None) - (len(read) - read.null_count)
        if lost:
            self.unfit[table, column] += lost

    def finite(self, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with nulls in place of infinite numbers, which are counted."""
        # Imported late: recognising a file imports this module.
        import pyarrow.compute as pc

        for at, one in enumerate(batch.schema):
            if not pa.types.is_floating(one.type):
                continue
            column = batch.column(at)
            is_finite: Any = pc.fill_null(pc.is_finite(column), True)
            infinite = len(column) - int(pc.sum(is_finite).as_py() or 0)
            if infinite:
                self.unfit[table, one.name] += infinite
                batch = batch.set_column(at, one, pc.if_else(is_finite, column, pa.scalar(None, one.type)))
        return batch

    def observe(self, staging: Staging, name: str) -> None:
        """Report in health what was left out of the database `name`."""
        columns = [f"{table}.{column}" for (table, column), _ in self.unfit.most_common(_NAMED)]
        more = ", ..." if len(self.unfit) > _NAMED else ""
        staging.observe(
            "values-unreadable", "warning", self.unfit.total() if self.unfit else 0,
            said("values in {name} are of another type than their column, or too large "
                 "({columns}{more})", name=name, columns=', '.join(columns), more=more),
            "they count as not recorded; the file may be damaged",
        )  # fmt: skip
        for table, why in sorted(self.unread.items()):
            staging.observe(
                "table-unread", "warning", 1,
                said("{table} of {name} is {why}, which is not read", table=table, name=name, why=why),
                "what the table holds is missing; copy the rows of it into a table of the same name",
            )  # fmt: skip
