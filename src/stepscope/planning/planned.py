"""The answer to a request: judged layouts, best first, with reasons."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.machine.platform import Platform
from stepscope.planning.request import Request
from stepscope.planning.result import JudgedPlan


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbouring choice, and what it would bring or cost.

    Attributes:
        what: The change in words.
        plan: What it takes.
        times: Its step as a multiple of the plan's.
    """

    what: str
    plan: JudgedPlan
    times: float


@dataclass(frozen=True, slots=True)
class Planned:
    """Plans for a request.

    Attributes:
        request: What was asked.
        plans: Best first; where one layout is judged, that one, even if it does not fit.
        neighbours: Of the first plan.
        considered: Layouts that were judged.
        remedies: If nothing fits, what would make it fit, as sentences.
        remarks: What the recording that it started from adds, as sentences.
        settings: The first plan's settings by framework.
    """

    request: Request
    plans: tuple[JudgedPlan, ...]
    neighbours: tuple[Neighbour, ...] = ()
    considered: int = 1
    remedies: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> ModelShape:
        """The model."""
        return self.request.shape

    @property
    def platform(self) -> Platform:
        """The machine."""
        return self.request.platform
