"""What the steps' length depends on, and what a change of the job would save of it.

graph = StepGraph.of(trace)
graph.predict(Change(device=(Scaled(kernels, 0.5),))).saved_ns
"""

from __future__ import annotations

from stepscope.analyses.stepgraph.changing.change import Change, Prediction, Scaled, Stretches
from stepscope.analyses.stepgraph.graph import StepGraph

__all__ = ["Change", "Prediction", "Scaled", "StepGraph", "Stretches"]
