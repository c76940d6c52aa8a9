from . import _profiler

OBSERVERS = []

__all__ = ["OBSERVERS", "_cuda_attach_out_of_memory_observer", "_profiler"]


def _cuda_attach_out_of_memory_observer(observer, /):
    OBSERVERS.append(observer)
