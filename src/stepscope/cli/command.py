"""How commands of stepscope differ from Typer's: in how they convert their arguments, in their language and help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

from stepscope.cli.speed import convert_plainly
from stepscope.language import LANGUAGES, said
from stepscope.model.errors import UserError

_LANGUAGE: Final = "--lang"


def take_language(arguments: Sequence[str], with_program: Collection[str]) -> tuple[str, list[str]]:
    """The language that a command line asks for, empty if it asks for none, and the line without that.

    Args:
        arguments: What stands on the line.
        with_program: Commands that start a program, whose options are the program's: there it stands before those.

    Raises:
        UserError: There is no such language.
    """
    language, kept = "", list[str]()
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name == _LANGUAGE:
            language = value if equals else next(rest, "")
            if language not in LANGUAGES:
                raise UserError(
                    said("{option} {language!r} is no language", option=_LANGUAGE, language=language),
                    hint=said("give {languages}", languages=" or ".join(LANGUAGES)),
                )
            continue
        kept.append(argument)
        program = kept[0] in with_program and not argument.startswith("-") and len(kept) > 1
        if program or argument == "--":
            break
    return language, [*kept, *rest]


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
