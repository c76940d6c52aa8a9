"""`cluster_duration_time_analysis.csv` of Ascend's top-N tool: durations of each kernel and shape on each device."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Final

from stepscope.model.sums.kernels import KernelKey, RunDurations
from stepscope.reports.exports.ascend_rank import RankSums

_TIMES: Final = tuple(f"Task Duration(us)_{name}" for name in ("mean", "var", "max", "min", "range"))
_KEYS: Final = ("Op Name", "Input Shapes", "Input Data Types", "Output Shapes", "device_id", "node_id")


class KernelDurations:
    """The rows of the file, by name, shapes, device and host, rank by rank."""

    def __init__(self) -> None:
        self._hosts: dict[str | None, int] = {}
        self._rows: list[list[Any]] = []

    def add(self, rank: RankSums) -> None:
        """Add a rank's kernels."""
        node = self._hosts.setdefault(rank.recording.host, len(self._hosts))
        self._rows += [_row(key, node, durations) for key, durations in rank.kernels.items()]

    def write(self, folder: Path) -> None:
        """Write the file; none where no kernel has shapes."""
        if not self._rows:
            return
        self._rows.sort(key=lambda row: row[:6])
        with (folder / "cluster_duration_time_analysis.csv").open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow((*_KEYS, *_TIMES))
            out.writerows(self._rows)


def _row(key: KernelKey, node: int, durations: RunDurations) -> list[Any]:
    *keys, _ = key
    variance = durations.variance
    spread = durations.longest - durations.shortest
    times = [durations.total / durations.count, durations.longest, durations.shortest, spread]
    mean, longest, shortest, distance = (ns / 1000 for ns in times)
    return [*keys, node, mean, "" if variance is None else variance / 10**6, longest, shortest, distance]
