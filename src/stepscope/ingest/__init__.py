"""From a path to an open trace: recognise, read, derive, store."""

from stepscope.ingest.opening import open_trace
from stepscope.ingest.options import Options

__all__ = ["Options", "open_trace"]
