"""A watched job as it is now, for a page that asks again and again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

from stepscope.language import said
from stepscope.record.retold import retold
from stepscope.record.ring.reader import Ring, rings_in
from stepscope.record.triggers.keeping import recordings_in
from stepscope.record.triggers.request import WATCHED
from stepscope.record.triggers.trigger import Trigger
from stepscope.record.watching.jobs import runs
from stepscope.record.watching.summary import reason_of

#: Steps of each rank that are shown.
_STEPS: Final = 240


def is_watched(folder: Path) -> bool:
    """Whether a folder is that of a watched job."""
    return (folder / WATCHED).is_dir()


def job_now(folder: Path) -> dict[str, Any]:
    """What is shown of a job: `folder`, `ranks` with their last `steps`, and `recordings` with their `reason`.

    Times are in ns.
    """
    rings = rings_in(folder / WATCHED, _STEPS)
    return {
        "folder": str(folder),
        "ranks": [_rank(ring) for ring in rings],
        "recordings": _recordings(folder, rings),
    }


def _rank(ring: Ring) -> dict[str, Any]:
    several = ring.world_size > 1
    name = said("rank {rank}", rank=ring.rank) if several else said("process {pid}", pid=ring.pid)
    lengths = [step.length_ns for step in ring.steps]
    return {
        "name": said("{name} on {host}", name=name, host=ring.about.get("host", "")),
        "rank": ring.rank, "pid": ring.pid, "lives": runs(ring),
        "count": ring.count, "usual_ns": int(median(lengths)) if lengths else 0, "wait_ns": ring.wait_ns,
        "length_ns": ring.length_ns, "device_bytes": ring.device_bytes, "host_bytes": ring.host_bytes,
        "steps": [asdict(step) for step in ring.steps],
    }  # fmt: skip


def _recordings(folder: Path, rings: list[Ring]) -> list[dict[str, Any]]:
    """Those that are there, and those that rings still know, the latest first."""
    found = {one.name: {"folder": one.name, "reason": reason_of(one), "there": True} for one in recordings_in(folder)}
    for ring in rings:
        for one in ring.happened:
            name = one.get("folder")
            if one.get("what") == "recorded" and isinstance(name, str) and name not in found:
                try:
                    reason = retold(Trigger.of_values(one.get("trigger")).sentence())
                except ValueError:
                    reason = ""
                found[name] = {"folder": name, "reason": reason, "there": False}
    return [found[name] for name in sorted(found, reverse=True)]
