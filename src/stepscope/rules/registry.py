"""Which rules there are: every module in the families' folders, and those of third parties."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from stepscope import rules
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.rules.finding import FAMILIES
from stepscope.rules.rule import Registered


@cache
def all_rules() -> dict[str, Registered]:
    """Every rule by code, in the order of families and codes.

    Raises:
        UserError: Two rules share a code, or a third party's rule can't be loaded.
    """
    found: dict[str, Registered] = {}
    for registered in (*_own(), *_third_party()):
        known = found.setdefault(registered.rule.code, registered)
        if known is not registered:
            raise UserError(
                said(
                    "two rules have the code {code} ({module} and {module_2})",
                    code=registered.rule.code, module=known.module, module_2=registered.module,
                ),
                hint="remove the package of one of them",
            )  # fmt: skip
    order = {family: position for position, family in enumerate(FAMILIES)}
    return dict(sorted(found.items(), key=lambda item: (order[item[1].family], item[0])))


def _own() -> Iterator[Registered]:
    present = {module.name for module in pkgutil.iter_modules(rules.__path__) if module.ispkg}
    for family in FAMILIES:
        if family in present:
            package = import_module(f"{rules.__name__}.{family}")
            for module in pkgutil.iter_modules(package.__path__):
                imported = import_module(f"{package.__name__}.{module.name}")
                if hasattr(imported, "RULE"):
                    yield Registered.from_module(imported, family)


def _third_party() -> Iterator[Registered]:
    for point in entry_points(group=rules.ENTRY_POINTS):
        try:
            module = point.load()
            yield Registered.from_module(module, module.FAMILY)
        except Exception as error:
            raise UserError(
                said(
                    "the rule {name} of {value} can't be loaded ({name_2}: {error})",
                    name=point.name, value=point.value, name_2=type(error).__name__, error=error,
                ),
                hint="update or remove the package it comes from",
            ) from error  # fmt: skip
