"""From a path to an open trace: recognise, read, derive, store."""

from stepscope.ingest.opening import Inputs, open_trace
from stepscope.ingest.options import Options

__all__ = ["Inputs", "Options", "open_trace"]
