"""A real trace, repeated one after the other to a wished size, as if the job had been recorded for longer."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, Final

#: Numbers that tie events together within one repetition; each repetition gets its own.
_IDS: Final = ("External id", "correlation", "Ev Idx", "Python id", "Python parent id", "Record function id")


def repeat(source: Path, target: Path, size: int, least_events: int = 0) -> int:
    """Write `source` (.json or .json.gz) to `target` as often as needed for so many bytes and events.

    Returns:
        The repetitions.
    """
    opener = gzip.open if source.suffix == ".gz" else open
    with opener(source, "rt", encoding="utf-8") as file:
        trace = json.load(file, strict=False)
    if isinstance(trace, list):  # traces of 2021 are a bare list
        trace = {"traceEvents": trace}
    events = trace.pop("traceEvents")
    timed = [event for event in events if event.get("ph") != "M" and "ts" in event]
    span = max(float(e["ts"]) + float(e.get("dur", 0)) for e in timed) - min(float(e["ts"]) for e in timed) + 1000
    stride = 1 + max((_largest_id(event) for event in timed), default=0)
    numbers = [_step_number(event) for event in timed if str(event.get("name")).startswith("ProfilerStep#")]
    steps = 1 + max(numbers) - min(numbers) if numbers else 0
    count = 0
    with target.open("w", encoding="utf-8") as out:
        out.write(json.dumps(trace)[:-1] + (', "traceEvents": [\n' if trace else '"traceEvents": [\n'))
        out.write(",\n".join(_dumps(event) for event in events if event.get("ph") == "M"))
        while out.tell() < size or count * len(timed) < least_events:
            for event in timed:
                out.write(",\n" + _dumps(_shifted(event, span * count, stride * count, steps * count)))
            count += 1
        out.write("\n]}\n")
    return count


def _shifted(event: dict[str, Any], time: float, ids: int, steps: int) -> dict[str, Any]:
    moved = {**event, "ts": round(float(event["ts"]) + time, 3)}
    if "id" in event and isinstance(event["id"], int):
        moved["id"] = event["id"] + ids
    args = event.get("args")
    if args:
        moved["args"] = {k: v + ids if k in _IDS and isinstance(v, int) and v > 0 else v for k, v in args.items()}
    if steps and str(event.get("name")).startswith("ProfilerStep#"):
        moved["name"] = f"ProfilerStep#{_step_number(event) + steps}"
    return moved


def _largest_id(event: dict[str, Any]) -> int:
    args = event.get("args") or {}
    values = [args.get(key) for key in _IDS] + [event.get("id")]
    return max((v for v in values if isinstance(v, int)), default=0)


def _step_number(event: dict[str, Any]) -> int:
    match = re.match(r"ProfilerStep#(\d+)", event.get("name", ""))
    return int(match.group(1)) if match else 0


def _dumps(event: dict[str, Any]) -> str:
    """An event laid out over lines as Kineto does."""
    args = event.get("args")
    head = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in event.items() if key != "args")
    if args is None:
        return f"  {{\n    {head}\n  }}"
    return f'  {{\n    {head},\n    "args": {{\n      {json.dumps(args)[1:-1]}\n    }}\n  }}'
