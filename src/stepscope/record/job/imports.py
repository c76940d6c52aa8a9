"""Wait until the program imports torch, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _TorchFinder:
    """A finder of modules that has torch report when its import is complete, and then is gone."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        del path, target
        if fullname != "torch" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = find_spec("torch")
        if spec is not None and spec.loader is not None:
            spec.loader = _ReportingLoader(spec.loader)  # type: ignore[assignment]
        return spec


class _ReportingLoader:
    """Loads a module as another loader does, then puts that one back and starts to record."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

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
        from stepscope.record.job.entering import enter

        enter()


def wait_for_torch() -> None:
    """Have recording start once torch has been imported."""
    sys.meta_path.insert(0, _TorchFinder())
