"""The step's dependency graph: what a change of the job would save."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.analyses.stepgraph.change import Change, Scaled
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Prediction:
    base_ns: int
    new_ns: int
    saved_ns: int
    steps: int
    residual: float


class StepGraph:
    @classmethod
    def of(cls, trace: Trace) -> StepGraph:
        raise MissingInputError("no graph yet")

    def predict(self, change: Change) -> Prediction:
        raise MissingInputError("no graph yet")


__all__ = ["Change", "Prediction", "Scaled", "StepGraph"]
