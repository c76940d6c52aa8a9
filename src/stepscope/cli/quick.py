"""What keeps the command line quick."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any


class _NoPandasForPyArrow(MetaPathFinder):
    """Makes PyArrow's first look for pandas fail.

    PyArrow imports pandas wherever it is installed as soon as it converts anything, to see whether it was given a
    data frame. That takes 0.2 s or more, and no command has a data frame to give.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        del path, target
        if fullname == "pandas" and "pyarrow.lib" in sys.modules:
            sys.meta_path.remove(self)
            raise ModuleNotFoundError("pandas is not needed by the command line", name="pandas")


def skip_pandas() -> None:
    """Keep pandas out of this process, as far as PyArrow is concerned."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandasForPyArrow())
