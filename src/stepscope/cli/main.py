"""From the process's arguments to its exit status; the only place where errors become text."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import IO, Annotated, Final

import typer

from stepscope.cli.agents.mcp import mcp
from stepscope.cli.analyze import analyze
from stepscope.cli.cache import cache
from stepscope.cli.command import Command, CommandGroup
from stepscope.cli.comparing.baseline import baseline
from stepscope.cli.comparing.compare import compare
from stepscope.cli.comparing.serving import serving
from stepscope.cli.demo import demo
from stepscope.cli.export import export
from stepscope.cli.guide import guide
from stepscope.cli.interrupts import INTERRUPTED
from stepscope.cli.page.view import view
from stepscope.cli.plain_characters import show_plainly
from stepscope.cli.planning.plan import plan
from stepscope.cli.query import query
from stepscope.cli.recording.attach import attach
from stepscope.cli.recording.doctor import doctor
from stepscope.cli.recording.parse_ascend import parse_ascend
from stepscope.cli.recording.record import record
from stepscope.cli.rules import rules
from stepscope.cli.schema import schema
from stepscope.cli.simulate import simulate
from stepscope.cli.speed import quick_process
from stepscope.cli.trying.command import try_
from stepscope.cli.whatif import whatif
from stepscope.model.errors import StepscopeError
from stepscope.model.process.leaving import wait_if_leaving

FAILED: Final = 2

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
for command in (
    analyze, compare, view, rules, serving, whatif, plan, guide, query, export, mcp, schema, demo, simulate, attach,
):  # fmt: skip
    app.command(cls=Command)(command)
app.command(name="parse-ascend", cls=Command)(parse_ascend)
# Options behind the program's name are the program's, also without `--`.
app.command(cls=Command, context_settings={"allow_interspersed_args": False})(record)
app.command(cls=Command, context_settings={"allow_interspersed_args": False})(doctor)
app.command(name="try", cls=Command, context_settings={"allow_interspersed_args": False})(try_)
app.add_typer(baseline, name="baseline")
app.add_typer(cache, name="cache")


def _version(wanted: bool) -> None:
    if wanted:
        from stepscope import __version__

        typer.echo(f"stepscope {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of errors. May stand anywhere on the line.")
    ] = False,
) -> None:
    """Where each step's time and memory went, from any profiler's recording."""
    del version, debug  # `main` has looked for --debug, `_version` has run
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
    try:
        status = app(list(arguments), standalone_mode=False, obj=debug)
        sys.stdout.flush()
        if status == INTERRUPTED:
            # Typer 0.29 makes an exit of it, older ones an error.
            return _fail("interrupted", KeyboardInterrupt(), debug, INTERRUPTED)
        return status if isinstance(status, int) else 0
    except StepscopeError as error:
        return _fail(str(error), error, debug, error.exit_code)
    except (KeyboardInterrupt, typer.Abort) as error:
        return _fail("interrupted", error, debug, INTERRUPTED)
    except (BrokenPipeError, SystemExit) as error:
        # Whoever read the output has seen enough.
        _give_up(sys.stdout)
        return 0 if isinstance(error, BrokenPipeError) or _is_broken_pipe(error) else FAILED
    except Exception as error:
        if reason := _refusal(error):
            _give_up(sys.stdout)
            return _fail(f"the output can't be written ({reason})", error, debug, FAILED)
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
        # Choices are listed on lines of their own.
        said = " ".join(str(usage()).split())
        return f"{said.rstrip('.?').replace('Value error, ', '')}; see --help"
    first = str(error).split("\n", 1)[0].rstrip(".")
    return f"an unexpected error occurred ({type(error).__name__}: {first}); run again with --debug and report it"


def _fail(message: str, error: BaseException, debug: bool, status: int) -> int:
    """Say what went wrong in one sentence."""
    from stepscope.reports.text import visible

    wait_if_leaving()
    try:
        if debug:
            import traceback

            typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
        typer.echo(f"stepscope: {visible(message)}.", err=True)
    except OSError:
        _give_up(sys.stderr)  # nobody can be told
    return status
