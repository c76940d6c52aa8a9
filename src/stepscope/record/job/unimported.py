"""Set torch's profiler up without importing what the program has not imported."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any, Final

#: torch's profiler asks it about CUDA graphs, and imports the whole compiler for that.
_CONFIG: Final = "torch._inductor.config"


def prepare(profiler: Any) -> None:
    """Have a profiler of torch set itself up.

    Importing torch's compiler takes seconds, and where the program imports it at the same time in another thread, both
    may find modules that are half there. A program without it has no CUDA graphs of the compiler's.
    """
    setup = getattr(type(profiler), "prepare_trace", None)
    if _is_imported() or not isinstance(setup, FunctionType):
        profiler.prepare_trace()
        return
    seen = {**setup.__globals__, "torch": _WithoutCompiler()}
    FunctionType(setup.__code__, seen, setup.__name__, setup.__defaults__, setup.__closure__)(profiler)


def _is_imported() -> bool:
    spec = getattr(sys.modules.get(_CONFIG), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


class _WithoutCompiler:
    """torch as it is, but for its compiler."""

    def __getattr__(self, name: str) -> Any:
        if name == "_inductor":
            raise AttributeError(name)
        return getattr(sys.modules["torch"], name)
