import os

from . import memory, profiler

AVAILABLE = "FAKE_CUDA" in os.environ
STATE = {"initialized": False, "queued": []}

__all__ = ["is_available", "is_current_stream_capturing", "is_initialized", "memory", "nvtx", "profiler", "synchronize"]


class OutOfMemoryError(RuntimeError):
    pass


def is_available():
    return AVAILABLE


def is_initialized():
    return STATE["initialized"]


def is_current_stream_capturing():
    return False


def _lazy_call(callable, **kwargs):
    if is_initialized():
        callable()
    else:
        STATE["queued"].append(callable)


def init():
    """What the first tensor on a device does."""
    if not STATE["initialized"]:
        for call in STATE["queued"]:
            call()
        STATE["initialized"] = True


def synchronize(device=None):
    assert is_initialized()


class nvtx:  # noqa: N801 - its name in torch
    calls = []

    @staticmethod
    def range_push(msg):
        nvtx.calls.append(msg)

    @staticmethod
    def range_pop():
        nvtx.calls.append("pop")

    @staticmethod
    def mark(msg):
        nvtx.calls.append(f"mark {msg}")

    @staticmethod
    def range_start(msg):
        nvtx.calls.append(f"start {msg}")
        return len(nvtx.calls)

    @staticmethod
    def range_end(range_id):
        nvtx.calls.append(f"end {range_id}")
