"""From a path to an open trace: recognise, read, derive, store."""

from stepscope.ingest.opening import Options, open_trace

__all__ = ["Options", "open_trace"]
