"""See calls of models that no other module contains; used where there are neither updates nor batches."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable
from typing import Any


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
    """The hooks of the modules found so far.

    Args:
        called: What to do when a module is called, with its identity.
    """

    def __init__(self, called: Callable[[Hashable], None]) -> None:
        self._mark = CallMark(called)
        self._handles: dict[int, Any] = {}

    def look(self, depth: int) -> None:
        """Hook the modules that lie in no other, and those within them to a depth."""
        import torch

        found = [one for one in gc.get_objects() if issubclass(type(one), torch.nn.Module)]
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
