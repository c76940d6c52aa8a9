from contextlib import nullcontext

from . import _dynamo, _profiler

OBSERVERS = []

__all__ = [
    "OBSERVERS",
    "DisableTorchFunction",
    "_DisableTorchDispatch",
    "_cuda_attach_out_of_memory_observer",
    "_dynamo",
    "_get_tracing_state",
    "_profiler",
]


class DisableTorchFunction(nullcontext):
    pass


class _DisableTorchDispatch(nullcontext):
    pass


def _get_tracing_state():
    return None


def _cuda_attach_out_of_memory_observer(observer, /):
    OBSERVERS.append(observer)
