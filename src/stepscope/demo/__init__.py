"""A small recording that comes with stepscope: a simulated training job with a slow data loader.

It was written by the simulator; `python -m stepscope.demo` rewrites it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

NAME: Final = "job.json.gz"


def recording() -> AbstractContextManager[Path]:
    """The recording as a file, for as long as the context is open."""
    return as_file(files("stepscope.demo").joinpath(NAME))
