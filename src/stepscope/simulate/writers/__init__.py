"""Formats a simulated job can be written in, by name."""

from __future__ import annotations

from stepscope.simulate.writers.base import MakeWriter, Writer
from stepscope.simulate.writers.kineto import KinetoWriter

WRITERS: dict[str, MakeWriter] = {"kineto": KinetoWriter}

__all__ = ["WRITERS", "MakeWriter", "Writer"]
