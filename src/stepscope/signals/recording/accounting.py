"""Composition of the typical step, without which "all is well" can't be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.analyses.shared.needs import has_device
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.signals.communication.cluster import waited_share
from stepscope.signals.host.longest_gaps import IdleGap, longest_gaps
from stepscope.signals.host.outside import between
from stepscope.signals.shared.idleness import causes
from stepscope.signals.shared.job import device
from stepscope.signals.signal import Signals, signal

#: A device that computes for all but this share of the step is well used: what gaps between kernels leave.
_WELL: Final = 0.1
#: So many causes of idle time are told, each of at least this share of the step.
_TOLD: Final = 3
_LEAST: Final = 0.01


@dataclass(frozen=True, slots=True)
class Account:
    """Shares of a rank's typical step, on the device that is idle least, of which the causes are.

    Attributes:
        idle: Nothing runs.
        communication: Collectives, and nothing else.
        copies: Copies or memsets, and nothing else.
        causes: The largest causes of idle time, each as a share of the step.
        known_device: Whether the device is known, so that its kernels, if any, can be held against its peaks.
        gaps: The longest gaps of the device that is idle least, where it is idle for long.
        waiting: The part of communication in which the rank waits for others, as a share of the step; 0 if not known.
        between: Idle time between steps as a share of the time from one to the next, where they are apart.
    """

    idle: float
    communication: float
    copies: float
    causes: tuple[tuple[str, float], ...]
    known_device: bool
    gaps: tuple[IdleGap, ...] = ()
    between: float = 0.0
    waiting: float = 0.0

    @property
    def lost(self) -> float:
        """Share of the step in which nothing is computed."""
        return self.idle + self.communication + self.copies

    @property
    def computing(self) -> bool:
        """Whether nearly all of the step is compute, on a known device."""
        return self.lost < _WELL and self.known_device

    @property
    def clean(self) -> bool:
        """Whether, in addition, nearly all time lies in steps."""
        return self.computing and self.between < _WELL


@signal()
def account(s: Signals) -> Account:
    """Composition of the typical step: idle time, exposed communication and copies, and the largest causes."""
    typical = set(Steps.of(s.trace).typical_steps.tolist())
    parts: dict[int | None, list[int]] = {}
    for row in s.table("step_budget").records():
        if row["step"] in typical:
            sums = parts.setdefault(row["device"], [0] * 4)
            for i, part in enumerate(("idle", "exposed_comm", "exposed_copy", "total")):
                sums[i] += row[f"{part}_ns"]
    parts = {one: sums for one, sums in parts.items() if sums[3]}
    if not parts:
        raise MissingInputError.of("device")
    _, busiest = min(parts.items(), key=lambda item: (item[1][0] / item[1][3], item[0] or 0))
    found = sorted((s.maybe(causes) or {}).items(), key=lambda item: -item[1])[:_TOLD]
    told = tuple((cause.replace("_", " "), share) for cause, share in found if share >= _LEAST)
    idle, communication, copies = (part / busiest[3] for part in busiest[:3])
    gaps = (s.maybe(longest_gaps) or ()) if idle >= _WELL else ()
    apart = s.whole.maybe(between)
    waiting = min(s.maybe(waited_share) or 0.0, communication)
    return Account(
        idle,
        communication,
        copies,
        told,
        s(device) is not None or not s.trace.once(has_device),
        gaps,
        apart.share if apart is not None else 0.0,
        waiting,
    )
