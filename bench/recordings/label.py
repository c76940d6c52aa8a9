"""Expert labels of recordings: what bounds each, and what a report must and must not say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Label:
    """What an expert says of one recording, written without stepscope.

    Attributes:
        path: Recording, relative to the folder of the labels.
        mode: training, inference, serving, micro, memory, other or unknown; None where the expert did not say.
        steps: Number of steps; None where an average step would mean nothing.
        first: Acceptable families of the first finding; `none` accepts silence.
        say: One of these words belongs on the page.
        must_not: None of these words may be part of a finding.
        gain: Share of the step that the first remedy saves; None where the recording can't tell.
        sure: How sure the expert is, between 0 and 1.
    """

    path: str
    mode: str | None
    steps: int | None
    first: tuple[str, ...]
    say: tuple[str, ...]
    must_not: tuple[str, ...]
    gain: float | None
    sure: float


def labels(folder: Path) -> Iterator[Label]:
    """The labels in `labels-*.json` of a folder, in the order of the files."""
    for file in sorted(folder.glob("labels-*.json")):
        for row in json.loads(file.read_text(encoding="utf-8")):
            values = (row.get(one.name) for one in fields(Label))
            yield Label(*(tuple(value) if isinstance(value, list) else value for value in values))
