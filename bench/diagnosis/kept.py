"""Outcomes on disk, one per line, so that a long run can be interrupted and go on later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bench.diagnosis.case import Found, Outcome
from bench.diagnosis.cases import Case

#: Name of the job and its faults.
Key = tuple[str, tuple[str, ...]]


def key_of(case: Case) -> Key:
    """What a case's outcome is found by."""
    return case[0].name, case[1]


def kept(path: Path | None) -> Mapping[Key, Outcome]:
    """Outcomes that a file holds: of one family and one state of the code, or they mean nothing together."""
    if path is None or not path.exists():
        return {}
    outcomes = map(_read, path.read_text(encoding="utf-8").splitlines())
    return {(outcome.job, outcome.faults): outcome for outcome in outcomes}


def keep(outcome: Outcome, path: Path) -> None:
    """Add an outcome; several processes may, since a line is written at once."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")


def _read(line: str) -> Outcome:
    row = json.loads(line)
    for key in ("faults", "without"):
        row[key] = tuple(row[key])
    row["findings"] = tuple(Found(**found) for found in row["findings"])
    return Outcome(**row)
