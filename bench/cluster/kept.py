"""Verdicts in a file, one JSON object a line, so that a series that is stopped goes on where it was."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.cluster.planted import Planted
from bench.cluster.verdict import Verdict


@dataclass
class Kept:
    """Verdicts that a file holds.

    Attributes:
        path: The file, made with the first verdict; None to keep none.
        read: How many ranks of each job are read, 0 for all: verdicts of others do not count.
    """

    path: Path | None
    read: int
    _lines: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                one = json.loads(line)
                self._lines[one["kind"], one["ranks"], one["seed"], one["read"]] = one

    def of(self, planted: Planted) -> Verdict | None:
        """The verdict on a job; None if there is none."""
        found = self._lines.get(self._key(planted))
        return (
            None
            if found is None
            else Verdict(planted, found["first"], found["table"], found["said"], found.get("same"))
        )

    def add(self, verdict: Verdict) -> None:
        """Append a verdict."""
        if self.path is not None:
            names = ("kind", "ranks", "seed", "read")
            line = dict(zip(names, self._key(verdict.planted), strict=True))
            line |= {"first": verdict.first, "table": verdict.table, "said": verdict.said, "same": verdict.same}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def _key(self, planted: Planted) -> tuple[str, int, int, int]:
        return planted.kind, planted.job.ranks, planted.job.noise_seed, self.read
