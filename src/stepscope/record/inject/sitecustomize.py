"""What Python loads at the start of every process below `stepscope record` or `try`.

It leaves `sys.path` as it would be without it, and loads the environment's own `sitecustomize` if there is one. The
`stepscope` that started the job is found by its path, so that the program's Python need not have it installed.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _without_this_folder() -> list[str]:
    return [entry for entry in sys.path if not entry or Path(entry).resolve() != _HERE]


def _load_own() -> None:
    """Load the `sitecustomize` that this one hides."""
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    hidden = sys.modules["sitecustomize"]
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules["sitecustomize"] = hidden
        raise


def _stepscope() -> None:
    """Make the package that this file belongs to importable, if none of that name is."""
    package = _HERE.parents[1]
    if "stepscope" in sys.modules or PathFinder.find_spec("stepscope", sys.path) is not None:
        return
    spec = spec_from_file_location("stepscope", package / "__init__.py", submodule_search_locations=[str(package)])
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["stepscope"] = module
        spec.loader.exec_module(module)


def _enter() -> None:
    """Start to record, in a process that has imported torch."""
    from stepscope.record.job.entering import enter

    enter()


def _try() -> None:
    """Start what `stepscope try` does in a process, which this package does not know."""
    import_module("stepscope.trying.job.entering").enter()


sys.path[:] = _without_this_folder()
if os.environ.get("STEPSCOPE_TRY") and sys.version_info >= (3, 10):
    try:
        _stepscope()
        _try()
    except Exception as error:
        print(f"stepscope: nothing is tried in this process ({error}).", file=sys.stderr)  # noqa: T201
if os.environ.get("STEPSCOPE_RECORD") and sys.version_info >= (3, 10):
    try:
        _stepscope()
        from stepscope.record.job.imports import wait_for

        wait_for("torch", _enter)
    except Exception as error:  # the program runs whatever happens here
        print(f"stepscope: nothing is recorded of this process ({error}).", file=sys.stderr)  # noqa: T201
_load_own()
