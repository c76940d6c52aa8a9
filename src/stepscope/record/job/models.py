"""See calls of models that no other module contains; used where there are neither updates nor batches."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import Any, Final

#: So many modules are noted before those that are gone are forgotten.
_FEW: Final = 4096


class CallMark:
    """A hook of a module that a copy of the module shares and a pickled one lacks."""

    def __init__(self, called: Callable[[Hashable], None]) -> None:
        self._called = called

    def __call__(self, module: Any, args: Any) -> None:
        """A module is called."""
        del args
        self._called(id(module))

    def __deepcopy__(self, memo: Any) -> CallMark:
        del memo
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # `{}.get(module, args)` is `args`, which is what a hook returns that leaves arguments as they are.
        return (getattr, ({}, "get"))


class Models:
    """The modules made so far, and hooks of some.

    Each is noted when it is made or unpickled. The garbage collector knows them as well, but also tuples that another
    thread is just filling: that thread fails where somebody looks at them.

    Args:
        called: What to do when a module is called, with its identity.
    """

    def __init__(self, called: Callable[[Hashable], None]) -> None:
        self._mark = CallMark(called)
        self._handles: dict[int, Any] = {}
        self._made: list[weakref.ref[Any]] = []
        self._most = _FEW

    def see(self, module: Any) -> None:
        """Start to note modules.

        Args:
            module: `torch.nn.Module`.
        """
        for name in ("__init__", "__setstate__"):
            if original := getattr(module, name, None):
                setattr(module, name, self._noting(original))

    def _noting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def wrapper(module: Any, *args: Any, **kwargs: Any) -> Any:
            self._made.append(weakref.ref(module))
            if len(self._made) > self._most:
                self._forget()
            return original(module, *args, **kwargs)

        return wrapper

    def _forget(self) -> None:
        """Keep no more than twice as many notes as there are modules."""
        noted = len(self._made)
        left = [one for one in self._made[:noted] if one() is not None]
        self._made[:noted] = left
        self._most = max(_FEW, 2 * len(left))

    def look(self, depth: int) -> None:
        """Hook the modules that lie in no other, and those within them to a depth."""
        noted = [one() for one in list(self._made)]
        found = list({id(one): one for one in noted if one is not None}.values())
        children = {id(child) for one in found for child in one.__dict__.get("_modules", {}).values()}
        level = [one for one in found if id(one) not in children]
        for _ in range(depth + 1):
            for one in level:
                if id(one) not in self._handles and "_forward_pre_hooks" in one.__dict__:
                    self._handles[id(one)] = one.register_forward_pre_hook(self._mark)
            level = [child for one in level for child in one.__dict__.get("_modules", {}).values() if child is not None]

    def leave(self) -> None:
        """Remove the hooks."""
        for handle in self._handles.values():
            handle.remove()
        self._handles.clear()
