"""How commands of stepscope differ from Typer's: in how they convert their arguments, in their language and help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

from stepscope.cli.speed import convert_plainly
from stepscope.language import LANGUAGES, said, spoken, told
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
        return _help(self, ctx, super().get_help)


class CommandGroup(TyperGroup):
    """What stands before the name of a command."""

    parse_args = _plainly(TyperGroup.parse_args)

    def get_help(self, ctx: Any) -> str:
        """The help."""
        return _help(self, ctx, super().get_help)


#: What Typer says in every help, longest first.
_FRAME: Final = (
    said("Show this message and exit."), said("Usage:"), said("Options:"), said("Commands:"), said("Arguments:"),
    said("[required]"), said("[default: "),
)  # fmt: skip


def _help(command: Any, ctx: Any, made: Callable[[Any], str]) -> str:
    """A command's help in the language that is spoken, wrapped by cells of the terminal."""
    if spoken() == "en":
        return made(ctx)
    from shutil import get_terminal_size

    from stepscope.reports.lines.columns import columns

    for one in (command, *getattr(command, "commands", {}).values()):
        one.help, one.epilog = told(one.help or ""), told(getattr(one, "epilog", None) or "")
    for parameter in command.get_params(ctx):
        if getattr(parameter, "help", None):
            parameter.help = told(parameter.help)
    width, ctx.terminal_width = min(get_terminal_size().columns, 100), 10_000
    text = made(ctx)
    for words in _FRAME:
        text = text.replace(words, told(words))
    return "\n".join(columns(text, width))
