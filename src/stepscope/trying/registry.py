"""Which remedies there are: every module in the folders of `remedies` that has one."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.trying import remedies
from stepscope.trying.remedy import OutsideRemedy


def _found() -> Iterator[tuple[str, OutsideRemedy]]:
    for folder in sorted(one.name for one in pkgutil.iter_modules(remedies.__path__) if one.ispkg):
        package = import_module(f"{remedies.__name__}.{folder}")
        for module in sorted(one.name for one in pkgutil.iter_modules(package.__path__)):
            imported = import_module(f"{package.__name__}.{module}")
            if hasattr(imported, "REMEDY"):
                yield imported.__name__, imported.REMEDY


@cache
def all_remedies() -> dict[str, OutsideRemedy]:
    """Every remedy by name, by folder and file."""
    return {remedy.name: remedy for _, remedy in _found()}


@cache
def modules() -> dict[str, str]:
    """Name of the module of each remedy."""
    return {remedy.name: module for module, remedy in _found()}


def chosen(names: Sequence[str]) -> list[OutsideRemedy]:
    """Remedies by their names.

    Raises:
        UserError: There is no such remedy.
    """
    known = all_remedies()
    for name in names:
        if name not in known:
            raise UserError(said("no remedy is called {name!r}", name=name), hint=choose(name, known))
    return [known[name] for name in dict.fromkeys(names)]
