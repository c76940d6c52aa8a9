"""Simulator of training jobs: writes recordings whose true causes are known."""

from __future__ import annotations

from stepscope.simulate.api import simulate
from stepscope.simulate.defects import DEFECTS
from stepscope.simulate.faults import FAULTS
from stepscope.simulate.job import SimJob
from stepscope.simulate.presets import PRESETS
from stepscope.simulate.randomjob import random_job
from stepscope.simulate.writers import WRITERS

__all__ = ["DEFECTS", "FAULTS", "PRESETS", "WRITERS", "SimJob", "random_job", "simulate"]
