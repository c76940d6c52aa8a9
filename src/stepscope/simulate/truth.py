"""The truth about a rank, gathered while it runs and written in bounded portions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stepscope.simulate.budget import KINDS, LabelledSpans, Placed, split
from stepscope.simulate.hostlog import HostLog
from stepscope.simulate.specs import KernelSpec


@dataclass(slots=True)
class TrueStep:
    """A recorded step: host interval and the end of the last activity launched in it."""

    number: int
    start: int
    end: int = 0
    device_start: int = 0
    device_end: int = 0
    typical: bool = True


@dataclass(slots=True)
class RankTruth:
    """Collects one rank's truth from ``start`` on; ``log`` is the rank's host log."""

    log: HostLog
    start: int
    sweep: LabelledSpans = field(init=False)
    kernels: dict[KernelSpec, list[int]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    waiting: list[TrueStep] = field(default_factory=list)
    current: TrueStep | None = None
    previous_end: int = -1
    host_end: int = 0
    first: int = -1
    last: int = 0

    def __post_init__(self) -> None:
        self.sweep = LabelledSpans(self.log, self.start)

    def activity(self, start: int, end: int, spec: KernelSpec, submitted: int, bound: int) -> None:
        """Take an activity placed on the device."""
        self.sweep.add(Placed(start, end, KINDS[spec.kind], submitted, bound))
        row = self.kernels.get(spec)
        if row is None:
            self.kernels[spec] = [1, end - start]
        else:
            row[0] += 1
            row[1] += end - start
        if self.first < 0 or start < self.first:
            self.first = start
        if end > self.last:
            self.last = end
        step = self.current
        if step is not None:
            if not step.device_start or start < step.device_start:
                step.device_start = start
            if end > step.device_end:
                step.device_end = end

    def start_step(self, number: int, now: int, *, typical: bool = True) -> None:
        """Start a recorded step on the host; it is typical unless it belongs to the warm-up or an edge."""
        self.current = TrueStep(number, now, typical=typical)

    def end_step(self, now: int) -> None:
        """End the step on the host, and settle what can be."""
        step = self.current
        if step is None:
            return
        step.end = self.host_end = now
        self.current = None
        self.waiting.append(step)
        self.sweep.advance(now)
        self._settle()

    def finish(self, now: int) -> None:
        """End the recording."""
        self.sweep.finish(max(now, self.last))
        self._settle()

    def _settle(self) -> None:
        while self.waiting:
            step = self.waiting[0]
            span_end = max(step.end, step.device_end)
            if span_end > self.sweep.reached:
                break
            self.waiting.pop(0)
            self.steps.append(self._row(step, span_end))
            self.previous_end = max(self.previous_end, span_end)
        oldest = self.waiting[0].start if self.waiting else self.host_end
        self.sweep.forget(min(oldest, self.previous_end))
        self.log.forget(self.sweep.reached)

    def _row(self, step: TrueStep, span_end: int) -> dict[str, Any]:
        intervals = self.sweep.intervals
        tile_start = self.previous_end if self.previous_end >= 0 else step.start
        device_end = step.device_end or step.end
        return {
            "step": step.number,
            "typical": step.typical,
            "host_begin": step.start,
            "host_end": step.end,
            "device_begin": step.device_start or None,
            "device_end": step.device_end or None,
            "host": split(intervals, step.start, step.end),
            "span": split(intervals, step.start, span_end),
            "tile": split(intervals, tile_start, span_end),
            "device": split(intervals, step.device_start or step.start, device_end),
        }

    def document(self) -> dict[str, Any]:
        """Everything about this rank, in plain values; times are true ns since the job's start."""
        names: dict[str, list[int]] = {}
        for spec, (count, total) in self.kernels.items():
            row = names.setdefault(f"{spec.kind}\0{spec.name}", [0, 0])
            row[0] += count
            row[1] += total
        return {
            "steps": self.steps,
            "device_begin": self.first,
            "device_end": self.last,
            "kernels": [
                {"kind": key.split("\0")[0], "name": key.split("\0")[1], "count": row[0], "total_ns": row[1]}
                for key, row in sorted(names.items())
            ],
        }
