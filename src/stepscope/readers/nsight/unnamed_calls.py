"""What calls do whose names an export lost, by the device work that they led to."""

from __future__ import annotations

from typing import Final

from stepscope.model.runtime_names import is_synchronisation
from stepscope.readers.nsight.device_activities import UNTYPED_WAIT
from stepscope.readers.nsight.loader import ExportLoader

#: A call that makes one queue wait for another returns at once, one that makes the host wait does not.
_BLOCKED_NS: Final = 20_000
#: By lost name: the category of most device activities that its calls led to, and what these are called. Calls come
#: before them, so that their ids are smaller.
_LED_TO_SQL: Final = r"""
SELECT c.name_id, d.category, mode(n.name) AS name, avg(c.dur) AS mean_ns
FROM raw_events c
JOIN names lost ON lost.name_id = c.name_id AND regexp_full_match(lost.name, '#\d+')
JOIN raw_events d ON d.correlation = c.correlation AND d.category IN ('kernel', 'copy', 'set', 'sync') AND d.id > c.id
JOIN names n ON n.name_id = d.name_id
WHERE c.category = 'runtime'
GROUP BY 1, 2 QUALIFY row_number() OVER (PARTITION BY c.name_id ORDER BY count(*) DESC, d.category) = 1
"""


def name_calls(loader: ExportLoader) -> None:
    """Tell calls without a name that wait, or launch, from work of the host; what a wait waits for is its name."""
    connection = loader.staging.connection
    for name_id, category, name, mean_ns in connection.execute(_LED_TO_SQL).fetchall():
        if category != "sync":
            told, suffix = "launch", ""
        elif is_synchronisation(name) and (name != UNTYPED_WAIT or mean_ns >= _BLOCKED_NS):
            told, suffix = "sync", f" ({name})"
        else:
            continue
        connection.execute("UPDATE names SET name = name || $1 WHERE name_id = $2", [suffix, name_id])
        connection.execute(
            "UPDATE raw_events SET category = $1 WHERE category = 'runtime' AND name_id = $2", [told, name_id]
        )
