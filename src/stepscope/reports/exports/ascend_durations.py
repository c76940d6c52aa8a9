"""`cluster_duration_time_analysis.csv` of Ascend's top-N tool: durations of each kernel and shape on each device."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from stepscope.model.trace import Trace

#: Kernels without shapes are left out, as the tool does; collectives have none.
_SQL: Final = """
SELECT name, input, dtypes, output, device, avg(us) AS mean, var_samp(us) AS var, max(us) AS most, min(us) AS least
FROM (
    SELECT e.name, args->>'$."Input Shapes"' AS input, args->>'$."Input Data Types"' AS dtypes,
        args->>'$."Output Shapes"' AS output, coalesce(k.device, e.rank) AS device, e.dur / 1000 AS us
    FROM events e JOIN kernels k ON k.event = e.id
    WHERE e.dur IS NOT NULL AND ($steps IS NULL OR k.step IN (
        SELECT step FROM steps WHERE coalesce(number, step) IN (SELECT unnest($steps))))
)
WHERE coalesce(input, 'N/A') <> 'N/A' AND coalesce(dtypes, 'N/A') <> 'N/A' AND coalesce(output, 'N/A') <> 'N/A'
GROUP BY ALL
"""
_TIMES: Final = tuple(f"Task Duration(us)_{name}" for name in ("mean", "var", "max", "min", "range"))
_KEYS: Final = ("Op Name", "Input Shapes", "Input Data Types", "Output Shapes", "device_id", "node_id")


def write_durations(traces: Sequence[Trace], folder: Path, steps: Sequence[int] | None = None) -> None:
    """Write the file, by name, shapes, device and host; none where no kernel has shapes.

    Args:
        traces: Traces of one rank each.
        folder: Where to write.
        steps: Numbers of steps; None for all.
    """
    hosts: dict[str | None, int] = {}
    rows: list[list[Any]] = []
    for trace in traces:
        [recording] = trace.recordings.values()
        node = hosts.setdefault(recording.host, len(hosts))
        for row in trace.rows(_SQL, {"steps": None if steps is None else list(steps)}):
            *keys, mean, var, most, least = row.values()
            rows.append([*keys, node, mean, "" if var is None else var, most, least, most - least])
    if not rows:
        return
    rows.sort(key=lambda row: row[:6])
    with (folder / "cluster_duration_time_analysis.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow((*_KEYS, *_TIMES))
        out.writerows(rows)
