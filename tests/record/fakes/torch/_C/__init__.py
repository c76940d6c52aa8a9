from . import _profiler

__all__ = ["_profiler"]
