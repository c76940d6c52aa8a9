"""From the process's arguments to its exit status; the only place where errors become text."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import IO, Annotated, Final

import typer

from stepscope.cli.command import Command, CommandGroup, take_language
from stepscope.cli.interrupts import INTERRUPTED
from stepscope.cli.plain_characters import show_plainly
from stepscope.cli.speed import quick_process
from stepscope.language import said, speak, told
from stepscope.language.speech import of_locale
from stepscope.model.errors import StepscopeError
from stepscope.model.process.leaving import wait_if_leaving

FAILED: Final = 2

#: Every command as help lists them, with the module of this package that has it under its name.
COMMANDS: Final[Mapping[str, str]] = {
    "analyze": "analyze",
    "compare": "comparing.compare",
    "view": "page.view",
    "rules": "rules",
    "serving": "comparing.serving",
    "whatif": "whatif",
    "plan": "planning.plan",
    "guide": "guide",
    "query": "query",
    "export": "export",
    "mcp": "agents.mcp",
    "schema": "schema",
    "demo": "demo",
    "simulate": "simulate",
    "attach": "recording.attach",
    "parse-ascend": "recording.parse_ascend",
    "record": "recording.record",
    "doctor": "recording.doctor",
    "try": "trying.command",
    "baseline": "comparing.baseline",
    "cache": "cache",
}
#: Options behind the name of a program are the program's, also without `--`.
_WITH_PROGRAM: Final = ("record", "doctor", "try")


@cache
def app_of(name: str | None = None) -> typer.Typer:
    """The command line with one of `COMMANDS`, whose module alone is imported, or with all."""
    app = typer.Typer(
        name="stepscope",
        cls=CommandGroup,
        help="Where each step's time and memory went, from any profiler's recording.",
        epilog="Exit status: 0 done, 1 a gate failed, 2 nothing usable or wrong use, 130 interrupted.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(options)
    for one in COMMANDS if name is None else (name,):
        module = import_module(f"stepscope.cli.{COMMANDS[one]}")
        command = getattr(module, "try_" if one == "try" else one.replace("-", "_"))
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=one)
        else:
            settings = {"allow_interspersed_args": False} if one in _WITH_PROGRAM else None
            app.command(name=one, cls=Command, context_settings=settings)(command)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from stepscope import __version__

        typer.echo(told(said("stepscope {version}", version=__version__)))
        raise typer.Exit


def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of errors. May stand anywhere on the line.")
    ] = False,
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            metavar="LANGUAGE",
            help="Language of what is shown: en or zh; of the locale if not given. May stand anywhere on the line.",
        ),
    ] = None,
) -> None:
    """Where each step's time and memory went, from any profiler's recording."""
    del version, debug, lang  # `main` has looked for --debug, `run` for --lang, `_version` has run
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), err=True)
        raise typer.Exit(FAILED)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # What stands after `--` is the line of another program.
    own = arguments.index("--") if "--" in arguments else len(arguments)
    debug = "--debug" in arguments[:own]
    with quick_process():
        status = run([*(one for one in arguments[:own] if one != "--debug"), *arguments[own:]], debug=debug)
    sys.exit(status)


def run(arguments: Sequence[str], *, debug: bool = False) -> int:
    """Run the command line; returns the exit status."""
    show_plainly()
    speak(of_locale(os.environ))
    try:
        language, arguments = take_language(arguments, _WITH_PROGRAM)
        speak(language or of_locale(os.environ), asked=bool(language))
        app = app_of(arguments[0] if arguments and arguments[0] in COMMANDS else None)
        status = app(arguments, standalone_mode=False, obj=debug)
        sys.stdout.flush()
        if status == INTERRUPTED:
            # Typer 0.29 makes an exit of it, older ones an error.
            return _fail(told(said("interrupted")), KeyboardInterrupt(), debug, INTERRUPTED)
        return status if isinstance(status, int) else 0
    except StepscopeError as error:
        return _fail(told(error.said), error, debug, error.exit_code)
    except (KeyboardInterrupt, typer.Abort) as error:
        return _fail(told(said("interrupted")), error, debug, INTERRUPTED)
    except (BrokenPipeError, SystemExit) as error:
        # Whoever read the output has seen enough.
        _give_up(sys.stdout)
        return 0 if isinstance(error, BrokenPipeError) or _is_broken_pipe(error) else FAILED
    except Exception as error:
        if reason := _refusal(error):
            _give_up(sys.stdout)
            return _fail(told(said("the output can't be written ({reason})", reason=reason)), error, debug, FAILED)
        return _fail(_sentence(error), error, debug, FAILED)


def _refusal(error: BaseException | None) -> str:
    """Why what goes to standard output can't be written, if that is the error; Typer may say so in its own way."""
    from stepscope.store.failures import FULL

    while error is not None:
        code = error.errno if isinstance(error, OSError) and error.filename is None else None
        if code in FULL:
            return os.strerror(code or 0)
        error = error.__context__
    return ""


def _give_up(stream: IO[str]) -> None:
    """Let Python, which writes what is left when it ends, write it to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_broken_pipe(error: BaseException) -> bool:
    """Whether Typer left because of a closed pipe."""
    return isinstance(error.__context__, BrokenPipeError)


def _sentence(error: Exception) -> str:
    """What went wrong; errors of wrong use have a message of their own."""
    usage = getattr(error, "format_message", None)
    if usage is not None:
        from stepscope.language.wrong_use import in_words

        return told(said("{error}; see --help", error=in_words(str(usage()))))
    first = str(error).split("\n", 1)[0].rstrip(".")
    return told(
        said(
            "an unexpected error occurred ({kind}: {message}); run again with --debug and report it",
            kind=type(error).__name__,
            message=first,
        )
    )


def _fail(message: str, error: BaseException, debug: bool, status: int) -> int:
    """Say what went wrong in one sentence."""
    from stepscope.reports.text import visible

    wait_if_leaving()
    try:
        if debug:
            import traceback

            typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
        typer.echo(told(said("stepscope: {message}.", message=visible(message))), err=True)
    except OSError:
        _give_up(sys.stderr)  # nobody can be told
    return status
