"""A simulated training job whose recording, and the truth behind it, are both known."""

from __future__ import annotations

from stepscope.simulate.api import simulate
from stepscope.simulate.job import SimJob

__all__ = ["SimJob", "simulate"]
