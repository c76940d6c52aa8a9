"""Name parts of a program, for every profiler at once: torch.profiler, Nsight Systems (NVTX) and Ascend (mstx)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any


class annotate(ContextDecorator):  # noqa: N801 - used as a function
    """A named range around a block or a function.

        with stepscope.annotate("augment"):
            ...

        @stepscope.annotate("loss")
        def loss(...): ...

    Does nothing in a process that has not imported torch.

    Args:
        name: What the range is called in recordings.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._ends: list[Callable[[], None]] = []

    def _recreate_cm(self) -> annotate:
        # Calls of a function may overlap.
        return annotate(self.name)

    def __enter__(self) -> annotate:
        """Start the range."""
        self._ends = list(_started(self.name))
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the range."""
        while self._ends:
            self._ends.pop()()


def _started(name: str) -> Iterator[Callable[[], None]]:
    """Start a range for each profiler; yields what ends it."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    mark = torch.profiler.record_function(name)
    mark.__enter__()
    yield lambda: mark.__exit__(None, None, None)
    if torch.cuda.is_available():
        torch.cuda.nvtx.range_push(name)
        yield torch.cuda.nvtx.range_pop
    npu: Any = sys.modules.get("torch_npu")
    if npu is not None and npu.npu.is_available():
        number = npu.npu.mstx.range_start(name, npu.npu.current_stream())
        yield lambda: npu.npu.mstx.range_end(number)


class ModuleAnnotations:
    """The ranges around the calls of a model's modules."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._open: list[annotate] = []

    def add(self, module: Any, name: str) -> None:
        """Put a range around the calls of a module."""
        from torch.compiler import is_compiling

        def enter(one: Any, args: Any) -> None:
            del one, args
            if not is_compiling():
                self._open.append(annotate(name).__enter__())

        def leave(one: Any, args: Any, result: Any) -> None:
            del one, args, result
            if self._open and not is_compiling():
                self._open.pop().__exit__(None, None, None)

        self._handles.append(module.register_forward_pre_hook(enter))
        self._handles.append(module.register_forward_hook(leave, always_call=True))

    def remove(self) -> None:
        """Take the ranges away."""
        while self._handles:
            self._handles.pop().remove()


def annotate_modules(model: Any, depth: int = 2) -> ModuleAnnotations:
    """Put a named range around every call of a model and of the modules within it.

    Args:
        model: A `torch.nn.Module`.
        depth: Levels below the model; 0 for the model alone.

    Returns:
        The annotations, which `remove` takes away.
    """
    annotations = ModuleAnnotations()
    for name, module in model.named_modules():
        below = name.count(".") + 1 if name else 0
        if below <= depth:
            annotations.add(module, f"{name or 'model'} ({type(module).__name__})")
    return annotations
