"""Commands whose paths and texts are converted without pydantic."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup


class QuickCommand(TyperCommand):
    """A command that converts its own paths and texts, and leaves to Typer whatever may be wrong.

    Typer 0.29 builds a pydantic adapter for every parameter of a command, given or not. That takes 0.13 s, a third of
    a report that is in the cache. Versions that don't are left as they are.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Convert the arguments of a call."""
        for parameter in self.get_params(ctx):
            _quicken(parameter)
        return super().parse_args(ctx, args)

    def get_help(self, ctx: Any) -> str:
        """The help, in which arguments are called what they are: no braces around them, and no types of Python."""
        for parameter in self.get_params(ctx):
            argument: Any = parameter
            if hasattr(argument, "_usage_display_name") and argument.metavar:
                argument._usage_display_name = lambda name=argument.metavar: name
                argument.display_type_rich = lambda **_: ""
        return super().get_help(ctx)


class QuickGroup(TyperGroup):
    """The same for what stands before the name of a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Convert the arguments of a call."""
        for parameter in self.get_params(ctx):
            _quicken(parameter)
        return super().parse_args(ctx, args)


def _quicken(parameter: Any) -> None:
    """Have a parameter of a command convert what is plain by itself."""
    if not hasattr(parameter, "type_descriptor"):
        return
    convert = None if parameter.callback else _CONVERSIONS.get(parameter.type_descriptor.annotation)
    several = getattr(parameter, "multiple", False) or parameter.nargs == -1
    typers_own = parameter.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            nothing = () if several else None
            return parameter.callback(ctx, parameter, nothing) if parameter.callback else nothing
        if convert is not None and value:
            texts = value if several else [value]
            if all(type(text) is str and (convert is str or _may_pass(text)) for text in texts):
                converted = [convert(text) for text in texts]
                return converted if several else converted[0]
        return typers_own(ctx, value)

    parameter.process_value = process_value


def _may_pass(path: str) -> bool:
    """Whether Typer would find nothing wrong with a path: it is readable, or there is nothing."""
    return not os.path.exists(path) or os.access(path, os.R_OK)  # noqa: PTH110 - a Path may be refused


_CONVERSIONS: Final[dict[Any, Callable[[str], Any]]] = {Path: Path, list[Path]: Path, str: str, list[str]: str}
