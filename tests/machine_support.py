"""Samples of the machine in a small trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from support import Facts

SECOND = 10**9


def add_samples(
    facts: Facts,
    series: Mapping[tuple[str, str, str], float | Sequence[float]],
    *,
    at: Sequence[float],
    recording: Sequence[int] = (),
) -> None:
    """Samples at these seconds of series by (subject, series, unit), each one value or one per sample.

    Args:
        facts: The trace.
        series: The values.
        at: Seconds since the recording began.
        recording: Samples, by position, while which a rank was recorded.
    """
    rows = []
    for number, moment in enumerate(at):
        ts = round(moment * SECOND)
        rows.append((ts, "recording", "on", "count", float(number in recording)))
        for (subject, name, unit), values in series.items():
            value = values if isinstance(values, (int, float)) else values[number]
            rows.append((ts, subject, name, unit, float(value)))
    names = ("ts", "subject", "series", "unit", "value")
    columns = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    track = pa.array([0] * len(rows), pa.int32())
    facts.staging.insert("machine", pa.table({**columns, "track": track}))


def add_storage(facts: Facts, mount: str, kind: str, disk: str | None = None) -> None:
    """A filesystem on which the job had files open."""
    row = {"mount": [mount], "filesystem": ["ext4"], "kind": [kind], "disk": pa.array([disk], pa.string())}
    facts.staging.insert("storages", pa.table(row))
