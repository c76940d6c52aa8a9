"""All signals, for documentation and tests."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from stepscope import signals
from stepscope.signals.signal import Signal


@cache
def all_signals() -> dict[str, Signal[Any]]:
    """Every signal by name, sorted.

    Raises:
        ValueError: Two signals share a name.
    """
    found: dict[str, Signal[Any]] = {}
    for module in pkgutil.walk_packages(signals.__path__, f"{signals.__name__}."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, Signal) and found.setdefault(value.name, value) is not value:
                raise ValueError(f"two signals are called {value.name}")
    return dict(sorted(found.items()))
