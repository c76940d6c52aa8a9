"""How commands of stepscope differ from Typer's: in how they convert their arguments, and in their help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand, TyperGroup

from stepscope.cli.speed import convert_plainly


def _plainly(parse: Callable[..., list[str]]) -> Any:
    """A command's `parse_args` that has its parameters convert plainly first."""

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        """Convert the arguments of a call."""
        convert_plainly(self.get_params(ctx))
        return parse(self, ctx, args)

    return parse_args


class Command(TyperCommand):
    """A command."""

    parse_args = _plainly(TyperCommand.parse_args)

    def get_help(self, ctx: Any) -> str:
        """The help, with plain names of arguments instead of braces and Python types."""
        for parameter in self.get_params(ctx):
            argument: Any = parameter
            if hasattr(argument, "_usage_display_name") and argument.metavar:
                argument._usage_display_name = lambda name=argument.metavar: name
                argument.display_type_rich = lambda **_: ""
        return super().get_help(ctx)


class CommandGroup(TyperGroup):
    """What stands before the name of a command."""

    parse_args = _plainly(TyperGroup.parse_args)
