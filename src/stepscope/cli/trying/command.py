"""``stepscope try``: run a program with one remedy at a time, and measure what each saves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.language import said, told

if TYPE_CHECKING:
    from stepscope.trying.result import Tried

Program = Annotated[
    list[str] | None, typer.Argument(metavar="PROGRAM...", help="A Python file or a command, with its arguments.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Folder for what runs write; one of an earlier call goes on."),
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write JSON; `-` for standard output.")]
Minutes = Annotated[
    float, typer.Option("--minutes", min=0.1, metavar="N", help="Take no longer than this, 10 if not given.")
]
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="NAME", help="Try this remedy; may be repeated, or with commas.")
]
All = Annotated[bool, typer.Option("--all", help="Try all that can be applied, not only what a finding names.")]
Steps = Annotated[int, typer.Option("--steps", min=5, metavar="N", help="Time so many steps of each run at least, 20.")]
Warmup = Annotated[int, typer.Option("--warmup", min=1, metavar="N", help="Steps before these that do not count, 10.")]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout", min=0.0, metavar="SECONDS", help="A run that takes longer hangs; else it follows from the first."
    ),
]
InPlace = Annotated[
    bool, typer.Option("--in-place", help="Run in the program's own folder, and let it write over its files.")
]
KeepPrices = Annotated[
    bool, typer.Option("--keep-prices", help="Keep measured prices on this machine, and show those of earlier trials.")
]
List = Annotated[bool, typer.Option("--list", help="List the remedies, and leave.")]


def try_(
    program: Program = None,
    output: Output = None,
    json: Json = None,
    minutes: Minutes = 10.0,
    only: Only = None,
    all_: All = False,
    steps: Steps = 20,
    warmup: Warmup = 10,
    timeout: Timeout = 0.0,
    in_place: InPlace = False,
    keep_prices: KeepPrices = False,
    list_: List = False,
) -> None:
    """Run a program with one remedy at a time, applied from outside, and measure what each saves.

    Runs work on copies of the program's folder, which is left as it is.
    """
    from stepscope.cli.output import STDOUT, check_output
    from stepscope.cli.trying.behind import own_options
    from stepscope.model.errors import UserError

    if list_:
        typer.echo(_listed(), nl=False)
        return
    if not program:
        raise UserError("no program is given", hint="give a Python file, or a command after --")
    program, behind = own_options(program, sys.argv)
    json, minutes = behind.json or json, behind.minutes or minutes
    only = [*(only or []), *behind.only]
    check_output(json)
    tried, stopped = _carry_out(
        program, output, minutes, [name for one in only or [] for name in one.split(",") if name], all_, steps, warmup,
        timeout, in_place, keep_prices,
    )  # fmt: skip
    _show(tried, json)
    if json is not None and json != STDOUT:
        typer.echo(told(said("wrote {json}", json=json)), err=True)
    if stopped:
        cut = said("stepscope: interrupted; run the same with the same --output to go on.")
        typer.echo(told(cut), err=True)
    raise typer.Exit(stopped or (0 if tried.base_ns is not None else 2))


def _carry_out(
    program: list[str],
    output: Path | None,
    minutes: float,
    only: list[str],
    everything: bool,
    steps: int,
    warmup: int,
    timeout: float,
    in_place: bool,
    keep_prices: bool,
) -> tuple[Tried, int]:
    """Carry a trial out; what it found, and the exit status of a signal that cut it, or 0."""
    from stepscope.cli.recording.starting import command_of
    from stepscope.cli.speed import given_environment
    from stepscope.cli.trying.stopping import Stopped, stopping
    from stepscope.trying import prices
    from stepscope.trying.job.settings import TrialSettings
    from stepscope.trying.options import TrialOptions
    from stepscope.trying.registry import chosen
    from stepscope.trying.runs import TriedProgram, Workplace
    from stepscope.trying.state import opened
    from stepscope.trying.trial import Trial, new_folder

    chosen(only)
    command = command_of(program)
    working = Path.cwd()
    folder = (output or new_folder()).absolute()
    file = prices.default_file()
    state = opened(folder, command, working)
    options = TrialOptions(
        minutes * 60, tuple(only), everything, timeout, steps, settings=TrialSettings("", "", warmup=warmup),
        prices=tuple(prices.kept(file, state.mark)) if keep_prices else (),
    )  # fmt: skip
    place = Workplace(folder, TriedProgram(tuple(command), working, given_environment()), in_place=in_place)
    where = (
        said("in the program's own folder")
        if in_place
        else said("in copies of {working} below {folder}", working=working, folder=folder)
    )
    _say(said("each run works {where}", where=where))
    trial = Trial(place, state, options, _say)
    stopped = 0
    with stopping():
        try:
            trial.run()
        except Stopped as signal:
            stopped = signal.status
    tried = trial.result()
    if keep_prices:
        try:
            prices.keep(tried, file, state.mark)
        except OSError as error:
            _say(said("prices can't be kept in {file} ({strerror})", file=file, strerror=error.strerror))
    return tried, stopped


def _say(text: str) -> None:
    typer.echo(told(said("stepscope: {text}.", text=text)), err=True)


def _listed() -> str:
    from stepscope.trying.registry import all_remedies

    known = all_remedies().values()
    width = max(len(one.name) for one in known)
    return "".join(f"  {one.name:{width}}  {told(one.title)} ({', '.join(one.rules)})\n" for one in known)


def _show(tried: Tried, json: Path | None) -> None:
    import json as encoder

    from stepscope.cli.output import STDOUT, text_output
    from stepscope.cli.trying.page import outline
    from stepscope.reports import terminal

    if json is not None:
        with text_output(json) as out:
            out.write(encoder.dumps(tried.to_json(), indent=1) + "\n")
    if json != STDOUT:
        terminal.write_page(outline(tried), sys.stdout)
