"""What to record: from the command line to every process of the job, through one environment variable."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

#: Holds the settings as JSON.
VARIABLE: Final = "STEPSCOPE_RECORD"


@dataclass(frozen=True, slots=True)
class RecordSettings:
    """What the processes of a job are to record.

    Attributes:
        output: Folder of the recordings, absolute.
        reports: Folder in which processes report to the launcher, absolute.
        first: First step to record; steps count from 0.
        stop: First step not to record any more.
        warmup: Steps before the first in which the profiler already runs, and throws away what it sees.
        ranks: Ranks to record; empty for all.
        shapes: Record shapes of operators' inputs.
        stacks: Record Python functions.
        allocations: Record allocations of tensors.
        memory: Record the history of the device's allocator.
        scheduled: Whether these steps are recorded; otherwise as many, when somebody asks.
        every: Record as many steps again after so many steps; 0 for once.
        requests: Files; whoever touches one asks for a recording.
        slow: Record after a step that takes so many times the median of those before; 0 for never.
        profiler: What records: `torch`, which on NPUs is torch_npu's own, or `nsys`, which the job runs under.
        patience_s: Seconds without any step after which a stretch of time is recorded instead; 0 for never.
        stretch_s: Seconds of that stretch.
        ring: Steps that each process keeps in its ring, with or without recordings; 0 for no ring.
        jump: Record when memory in use exceeds the most before by this share; 0 for never.
        jump_bytes: Bytes that it must exceed it by besides.
        cooldown_s: Seconds in which no more than three recordings are made that nobody asks for.
        keep: Recordings kept, each in a folder of its own, the oldest being removed; 0 for all, in one folder.
        keep_bytes: Bytes that they take at most; the newest is kept whatever its size.
        control: Folder, of this user alone, in which processes can be asked for recordings; empty for none.
    """

    output: str
    reports: str
    first: int = 10
    stop: int = 14
    warmup: int = 2
    ranks: tuple[int, ...] = ()
    shapes: bool = True
    stacks: bool = True
    allocations: bool = False
    memory: bool = False
    scheduled: bool = True
    every: int = 0
    requests: tuple[str, ...] = ()
    slow: float = 0.0
    profiler: str = "torch"
    patience_s: float = 60.0
    stretch_s: float = 2.0
    ring: int = 0
    jump: float = 0.0
    jump_bytes: int = 256 << 20
    cooldown_s: float = 60.0
    keep: int = 0
    keep_bytes: int = 2 << 30
    control: str = ""

    @property
    def has_launcher(self) -> bool:
        """Whether a launcher of ours reads what processes report, and removes it."""
        return os.path.dirname(self.reports) != self.control  # noqa: PTH120 - processes load it at their start

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> RecordSettings:
        """From JSON; what this version does not know is left out."""
        values: dict[str, Any] = json.loads(text)
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in values.items() if name in known}
        for name in ("ranks", "requests"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)

    @classmethod
    def given(cls) -> RecordSettings | None:
        """Those of this process's environment."""
        text = os.environ.get(VARIABLE)
        return cls.of(text) if text else None
