"""See calls of models that no other module's call contains; used where there are neither updates nor batches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dis import opname
from types import FrameType
from typing import Any, Final

from stepscope.record.job.unseen import Watched

#: So many calls of models that lie in no other call are looked at before the classes to watch are taken to be known.
_CALLS: Final = 64
#: The same of all calls, those within others included.
_LOOKS: Final = 20_000
#: Modules that look at every attribute of a model, and call none that is not within another call.
_COMPILERS: Final = ("torch.jit", "torch._jit", "torch._dynamo", "torch.fx", "inspect")


class Models:
    """Watches the classes of the models that the program calls.

    At first calls of every module are seen. The classes of those that are called by no other module stay watched, and
    no more are looked for: calls of modules within a model then cost nothing. No module has a hook, and none changes.

    Args:
        called: What to do when a model is called, with its identity.
    """

    def __init__(self, called: Callable[[Hashable], None]) -> None:
        self._called = called
        self._module: Any = None
        self._everywhere: Watched | None = None
        self._watched: dict[type, Watched] = {}
        self._outer: set[int] = set()
        self._inner: set[int] = set()
        self._calls = self._looks = 0

    def see(self, module: Any) -> None:
        """Start to.

        Args:
            module: `torch.nn.Module`.
        """
        self._module = module
        self._calls = self._looks = 0
        if self._everywhere is None:
            self._everywhere = Watched(module, "__call__", self._looked_up)
            self._everywhere.put()

    def leave(self) -> None:
        """Watch no class any more."""
        self._stop_looking()
        while self._watched:
            self._watched.popitem()[1].remove()

    def _stop_looking(self) -> None:
        if self._everywhere is not None:
            self._everywhere.remove()
            self._everywhere = None

    def _looked_up(self, model: Any) -> None:
        """Some module is called."""
        self._looks += 1
        kind = type(model)
        caller = sys._getframe(2)
        known = any(one in self._watched for one in kind.__mro__)
        if not known and not _looks_up(caller) and not self._is_within(caller):
            watched = Watched(kind, "__call__", self._told)
            if kind is not self._module and watched.put():
                self._watched[kind] = watched
            self._outer.add(id(model))
            self._call(model)
        if self._calls >= _CALLS or self._looks >= _LOOKS:
            self._stop_looking()

    def _told(self, model: Any) -> None:
        """A module of a watched class is called."""
        identity, caller = id(model), sys._getframe(2)
        if identity in self._inner or _looks_up(caller):
            return
        if identity not in self._outer:
            within = self._is_within(caller)
            (self._inner if within else self._outer).add(identity)
            if within:
                return
        self._call(model)

    def _call(self, model: Any) -> None:
        self._calls += 1
        self._called(id(model))

    def _is_within(self, frame: FrameType | None) -> bool:
        """Whether a module's call is under way in this thread."""
        code = self._module._call_impl.__code__
        while frame is not None:
            if frame.f_code is code:
                return True
            frame = frame.f_back
        return False


def _looks_up(frame: FrameType) -> bool:
    """Whether code looks `__call__` up, as torch.compile does; a class's own `__call__` does so to call another's."""
    code = frame.f_code
    if code.co_name == "__call__":
        return False
    by_torch = str(frame.f_globals.get("__name__")).startswith(_COMPILERS)
    return by_torch or opname[code.co_code[frame.f_lasti]].startswith("LOAD_")
