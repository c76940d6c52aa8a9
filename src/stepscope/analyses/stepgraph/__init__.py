"""The dependency graph of steps: what their length depends on, and what a change would save.

For example, `StepGraph.of(trace).predict(Change(device=(Scaled(kernels, 0.5),))).saved_ns`.
"""

from __future__ import annotations

from stepscope.analyses.stepgraph.graph import Prediction, StepGraph

__all__ = ["Prediction", "StepGraph"]
