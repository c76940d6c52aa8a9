"""Threads for work on many rows; of few rows they cost more than they save."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from stepscope.model.sizes import SIZES

_P = ParamSpec("_P")
_T = TypeVar("_T")


class AtOnce(Executor):
    """Does what it is given at once, in the thread of who gives it, who sees its errors at once, too."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """The finished result of a call."""
        done: Future[_T] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def threads_for(events: int, number: int, name: str) -> Executor:
    """An executor with so many threads, or without any for a recording with few events."""
    if events < SIZES.threaded_events:
        return AtOnce()
    return ThreadPoolExecutor(number, thread_name_prefix=f"stepscope-{name}")
