"""Samples of tables become counters; those that lack a time, a name or a number are counted."""

from __future__ import annotations

from stepscope.readers.ascend.csvfile import CsvTable
from stepscope.store.staging import Staging

#: Rows of which nothing is kept though they hold no wrong number, and empty cells of the others in series that have
#: numbers elsewhere: some series are not collected at all.
_LOST = """
SELECT count(DISTINCT row) FILTER (gone)::BIGINT, count(*) FILTER (is_empty AND NOT gone AND numbers > 0)::BIGINT
FROM (
    SELECT row, is_empty, count(value) OVER (PARTITION BY name) AS numbers,
        ts IS NULL OR name IS NULL OR $whole AND bool_and(is_empty) OVER (PARTITION BY row) AS gone
    FROM ascend_series
)
"""


def add_series(
    staging: Staging,
    table: CsvTable,
    unit: str,
    samples: str,
    names: dict[str, str] | None = None,
    *,
    whole: bool = True,
) -> None:
    """Insert samples into `ascend_counters`, in the order of their rows, and note in the table what is lost.

    Args:
        staging: The staging area.
        table: The table that they are of.
        unit: Of all of them.
        samples: Query for the columns row, ts, name, value and is_empty: whether the value's cell has no text.
        names: Parameters of the query.
        whole: Whether it gives all series of a row, so that a row without any number says nothing.
    """
    connection = staging.connection
    connection.execute(f"CREATE TEMP TABLE ascend_series AS {samples}", names)
    connection.execute(
        "INSERT INTO ascend_counters SELECT ts, $unit, name, value FROM ascend_series "
        "WHERE ts IS NOT NULL AND name IS NOT NULL AND value IS NOT NULL ORDER BY row",
        {"unit": unit},
    )
    rows, cells = staging.one(_LOST, {"whole": whole})
    table.lost["rows"] = max(rows, table.lost["rows"])
    table.lost["cells"] += cells
    connection.execute("DROP TABLE ascend_series")
