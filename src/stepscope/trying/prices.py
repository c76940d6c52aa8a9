"""Measured prices of earlier trials, kept on this machine alone, and only if asked for."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from stepscope.trying.result import Tried

#: Older lines are dropped when there are more.
_MOST: Final = 10_000


def default_file() -> Path:
    """Where prices are kept unless told otherwise."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "stepscope" / "prices.jsonl"


def kept(path: Path, mark: str = "") -> list[dict[str, Any]]:
    """What was kept of other trials than this one; lines that can't be read are left out."""
    found = []
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                values = json.loads(line)
                if isinstance(values, dict) and not (mark and values.get("trial") == mark):
                    found.append(values)
    return found


def shares(prices: list[dict[str, Any]], remedy: str, rule: str, device: str) -> tuple[float, ...]:
    """Of earlier trials of a remedy for a rule: measured over predicted."""
    found = []
    for one in prices:
        predicted, measured = one.get("predicted_ns"), one.get("measured_ns")
        same = (one.get("name"), one.get("rule"), one.get("device")) == (remedy, rule, device)
        if same and isinstance(predicted, int) and isinstance(measured, int) and predicted > 0:
            found.append(round(measured / predicted, 3))
    return tuple(found)


def keep(tried: Tried, path: Path, mark: str) -> None:
    """Add the prices of a trial: names, times and the kind of device, nothing of the program.

    What was kept of it when it was cut, or ran out of time, gives way to what is known by now.

    Raises:
        OSError: They can't be written.
    """
    lines = [
        json.dumps({
            "time": int(time.time()), "trial": mark, "name": one.name, "rule": one.rule, "device": tried.device,
            "base_ns": one.measured.base_ns, "predicted_ns": one.predicted_ns, "measured_ns": one.measured.saved_ns,
            "low_ns": one.measured.low_ns, "high_ns": one.measured.high_ns, "verdict": one.measured.verdict,
        })
        for one in tried.remedies
        if one.measured.saved_ns is not None
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    before = [json.dumps(one) for one in kept(path, mark)]
    temporary = path.with_suffix(".unfinished")
    temporary.write_text("\n".join([*before, *lines][-_MOST:]) + "\n", encoding="utf-8")
    temporary.replace(path)
