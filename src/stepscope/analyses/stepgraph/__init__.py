"""What the steps' length depends on, and what a change of the job would save of it.

graph = StepGraph.of(trace)
graph.predict(Change(device=(Scaled(kernels, 0.5),))).saved_ns
"""

from __future__ import annotations

from stepscope.analyses.stepgraph.graph import Prediction, StepGraph

__all__ = ["Prediction", "StepGraph"]
