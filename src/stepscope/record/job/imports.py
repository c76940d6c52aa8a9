"""Wait until the program imports torch, or another module, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _ReportingFinder:
    """A finder of modules that has one report when its import is complete, and then is gone."""

    def __init__(self, name: str, imported: Callable[[], None]) -> None:
        self._name = name
        self._imported = imported

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        del path, target
        if fullname != self._name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _ReportingLoader(spec.loader, self._imported)  # type: ignore[assignment]
        return spec


class _ReportingLoader:
    """Loads a module as another loader does, then puts that one back and reports."""

    def __init__(self, loader: Any, imported: Callable[[], None]) -> None:
        self._loader = loader
        self._imported = imported

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._imported()


def wait_for(name: str, imported: Callable[[], None]) -> None:
    """Have something done once a module has been imported, or at once if it has."""
    if name in sys.modules:
        imported()
    else:
        sys.meta_path.insert(0, _ReportingFinder(name, imported))
