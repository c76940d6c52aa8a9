from . import memory

RANGES = []
STATE = {"initialized": False, "queued": []}

__all__ = ["RANGES", "current_stream", "is_available", "is_initialized", "memory", "mstx"]


def is_available():
    return True


def is_initialized():
    return STATE["initialized"]


def _lazy_call(cb):
    if is_initialized():
        cb()
    else:
        STATE["queued"].append(cb)


def init():
    """What the first tensor on a device does."""
    if not STATE["initialized"]:
        for call in STATE["queued"]:
            call()
        STATE["initialized"] = True


class Stream:
    pass


def current_stream(device=None):
    return Stream()


class mstx:  # noqa: N801 - its name in torch_npu
    @staticmethod
    def mark(message, stream=None, domain="default"):
        RANGES.append((message, domain))

    @staticmethod
    def range_start(message, stream=None, domain="default"):
        assert stream is None or isinstance(stream, Stream)
        RANGES.append(message if domain == "default" else (message, domain))
        return len(RANGES)

    @staticmethod
    def range_end(range_id, domain="default"):
        RANGES.append(range_id)


class older_mstx:  # noqa: N801 - its name in torch_npu
    """That of 2024, without domains."""

    def mark(self, message=""):
        RANGES.append(message)

    @staticmethod
    def range_start(message, stream=None):
        assert isinstance(stream, Stream)
        RANGES.append(message)
        return len(RANGES)

    @staticmethod
    def range_end(range_id):
        RANGES.append(range_id)
