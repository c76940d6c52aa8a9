"""What a process of a run tells the launcher: where its steps start, its numbers, and what was applied."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from stepscope.trying.seen import Seen

#: Ending of a process's file of the starts of its steps: `time.perf_counter_ns` as eight bytes each, little-endian.
STEPS: Final = ".steps"


@dataclass(slots=True)
class TrialReport:
    """A process of a run.

    Attributes:
        pid: Its number.
        rank: Its rank.
        world: Number of ranks.
        source: What steps were found by: `optimizer`, `loader`, `model`, or nothing.
        ready: Whether it has warmed up, and runs on.
        losses: What the first backward passes started from.
        norms: Norm of the gradients of each of the first updates.
        outputs: Mean absolute value of what a model returned in each of its first calls, in programs without updates.
        applied: Remedies that found something to do.
        notes: What went wrong, a phrase each.
        seen: What hooks saw of the program.
        peak_bytes: Most memory that torch held of a device; 0 without a device.
    """

    pid: int = 0
    rank: int = 0
    world: int = 1
    source: str = ""
    ready: bool = False
    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    outputs: list[float] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)
    peak_bytes: int = 0

    def write(self, folder: str) -> None:
        """Write it where the launcher looks, whole or not at all."""
        final = Path(folder) / f"{self.pid}.json"
        temporary = final.with_suffix(".unfinished")
        with contextlib.suppress(OSError):
            temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
            temporary.replace(final)

    @classmethod
    def read(cls, path: Path) -> TrialReport:
        """What a process wrote.

        Raises:
            ValueError: It is not whole.
        """
        values = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**values, "seen": Seen.from_json(values["seen"])})
