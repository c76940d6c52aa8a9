"""Where each step's time and memory went, from any profiler's recording."""

from __future__ import annotations

__version__ = "0.1.0"
