"""Marks and ranges as torch_npu.npu.mstx has them, which every profiler at hand records."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from stepscope.record.api.backend import say

_P = ParamSpec("_P")
_R = TypeVar("_R")
_DEFAULT: Final = "default"
_numbers = itertools.count(1)
#: What ends each open range, by its number.
_open: dict[int, list[Callable[[], None]]] = {}


class mstx:  # noqa: N801 - its name in torch_npu
    """Marks and ranges: of torch_npu where there is an NPU, else of torch.profiler and NVTX, which have no domains.

    They do nothing in a process that has not imported torch.
    """

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = _DEFAULT) -> None:
        """Mark a moment; on the stream, too, if one is given (NPU)."""
        if (native := _native()) is not None:
            _call(native, "mark", message, stream, domain)
            return
        for end in _started(message, domain, mark=True):
            end()

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = _DEFAULT) -> int:
        """Start a range; returns its number for `range_end`. Ranges may overlap."""
        if (native := _native()) is not None:
            return int(_call(native, "range_start", message, stream, domain))
        number = next(_numbers)
        _open[number] = _started(message, domain)
        return number

    @staticmethod
    def range_end(range_id: int, domain: str = _DEFAULT) -> None:
        """End a range; nothing where there is no such one."""
        if (native := _native()) is not None:
            _call(native, "range_end", range_id, None, domain)
            return
        for end in reversed(_open.pop(range_id, [])):
            end()

    @staticmethod
    def mstx_range(
        message: str, stream: Any = None, domain: str = _DEFAULT
    ) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
        """A range around each call of a function: `@mstx.mstx_range("loss")`."""

        def around(function: Callable[_P, _R]) -> Callable[_P, _R]:
            @functools.wraps(function)
            def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
                number = mstx.range_start(message, stream, domain)
                try:
                    return function(*args, **kwargs)
                finally:
                    mstx.range_end(number, domain)

            return called

        return around


def _native() -> Any:
    """torch_npu's, where there is an NPU."""
    npu: Any = sys.modules.get("torch_npu")
    return npu.npu.mstx if npu is not None and npu.npu.is_available() else None


def _call(native: Any, name: str, subject: Any, stream: Any, domain: str) -> Any:
    """Call it with what this torch_npu takes."""
    # Older ones have marks as a method of instances.
    function = getattr(native() if name == "mark" else native, name)
    takes = inspect.signature(function).parameters
    options: dict[str, Any] = {}
    if "domain" in takes:
        options["domain"] = domain
    elif domain != _DEFAULT:
        say(f"mstx.{name}: domain has no effect with this torch_npu, which does not have it")
    if "stream" in takes and name != "range_end":
        # Those without domains need a stream.
        options["stream"] = stream if stream is not None or "domain" in takes else _current_stream()
    return function(subject, **options)


def _current_stream() -> Any:
    return sys.modules["torch_npu"].npu.current_stream()


def _started(message: str, domain: str, *, mark: bool = False) -> list[Callable[[], None]]:
    """Start a range for torch.profiler and NVTX; returns what ends it."""
    if domain != _DEFAULT:
        say("mstx: domains have no effect without an NPU: torch.profiler and NVTX of PyTorch have none")
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return []
    around = torch.profiler.record_function(message)
    around.__enter__()
    ends: list[Callable[[], None]] = [lambda: around.__exit__(None, None, None)]
    if torch.cuda.is_available():
        if mark:
            torch.cuda.nvtx.mark(message)
        else:
            handle = torch.cuda.nvtx.range_start(message)
            ends.append(lambda: torch.cuda.nvtx.range_end(handle))
    return ends
