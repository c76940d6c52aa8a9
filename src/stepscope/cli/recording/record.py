"""``stepscope record``: run a program, record a few of its steps, and say where the time went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

#: How many times the usual length makes a step slow.
_SLOW: Final = 2.0

Program = Annotated[list[str], typer.Argument(metavar="PROGRAM...", help="The program and its arguments, after `--`.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Folder for the recordings; named after the time if not given."),
]
StepRange = Annotated[
    str | None,
    typer.Option("--steps", metavar="A:B", help="Record steps A to B - 1; they count from 0, and 10:14 if not given."),
]
Warmup = Annotated[
    int, typer.Option("--warmup", min=0, metavar="N", help="Steps before these with the profiler on, thrown away.")
]
RecordedRanks = Annotated[
    str | None, typer.Option("--ranks", metavar="N,N", help="Record these ranks only, such as 0,7.")
]
Every = Annotated[
    int | None, typer.Option("--every", min=1, metavar="N", help="Record as many steps again every N steps.")
]
Signal = Annotated[
    str | None,
    typer.Option("--signal", metavar="USR1|USR2", help="Record when stepscope gets this signal, not at fixed steps."),
]
Touch = Annotated[
    Path | None, typer.Option("--touch", metavar="FILE", help="Record when this file is touched, not at fixed steps.")
]
Trigger = Annotated[
    str | None,
    typer.Option(
        "--trigger", metavar="slow-step", help="Record after a step twice as long as usual, not at fixed steps."
    ),
]
NoShapes = Annotated[bool, typer.Option("--no-shapes", help="Leave out the shapes of operators' inputs.")]
NoStacks = Annotated[bool, typer.Option("--no-stacks", help="Leave out Python functions, which cost most.")]
Allocations = Annotated[bool, typer.Option("--allocations", help="Record allocations of tensors, too.")]
Memory = Annotated[
    bool,
    typer.Option("--memory", help="Record the history of the device's allocator, and what fills it if it runs out."),
]
With = Annotated[
    str | None, typer.Option("--with", metavar="nsys", help="Record with Nsight Systems instead of torch.profiler.")
]
NsysOption = Annotated[
    list[str] | None,
    typer.Option("--nsys-option", metavar="OPTION", help="Another option of `nsys profile`; may be repeated."),
]
NoMachine = Annotated[bool, typer.Option("--no-machine", help="Leave out samples of processors, disks and devices.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not print the diagnosis.")]
Patience = Annotated[
    float,
    typer.Option(
        "--patience", min=1, metavar="SECONDS", help="Record 2 s of whatever runs after so long without a step, 60 s."
    ),
]


def record(
    program: Program,
    output: Output = None,
    steps: StepRange = None,
    warmup: Warmup = 2,
    ranks: RecordedRanks = None,
    every: Every = None,
    signal: Signal = None,
    touch: Touch = None,
    trigger: Trigger = None,
    no_shapes: NoShapes = False,
    no_stacks: NoStacks = False,
    allocations: Allocations = False,
    memory: Memory = False,
    with_: With = None,
    nsys_option: NsysOption = None,
    no_machine: NoMachine = False,
    no_report: NoReport = False,
    patience: Patience = 60.0,
) -> None:
    """Run a program unchanged, record a few of its steps with torch.profiler, and print the diagnosis.

    The program's output and exit status are its own. Each rank writes a recording.
    """
    from stepscope.record import nsys
    from stepscope.record.folders import recording_folder
    from stepscope.record.launch import run
    from stepscope.record.machine.sampler import MachineSampler
    from stepscope.record.outcome import about_samples, reports_in, sentences
    from stepscope.record.settings import RecordSettings

    first, stop = _range(steps or "10:14")
    asks = _signal(signal)
    _known_trigger(trigger)
    _known_profiler(with_, nsys_option)
    with recording_folder(output) as (folder, reports):
        asking = {asks: reports / "asked"} if asks else {}
        requests = [*asking.values(), *([touch.absolute()] if touch else [])]
        settings = RecordSettings(
            str(folder), str(reports), first, stop, warmup, _numbers(ranks),
            shapes=not no_shapes, stacks=not no_stacks, allocations=allocations, memory=memory,
            profiler=with_ or "torch", patience_s=patience,
            scheduled=bool(steps or every) or not (requests or trigger), every=every or 0,
            requests=tuple(map(str, requests)), slow=_SLOW if trigger else 0.0,
        )  # fmt: skip
        command = nsys.profiled(program, settings, nsys_option or []) if with_ else program
        sampler = None if no_machine else MachineSampler(folder, reports)
        status = run(command, settings, asking, sampler.start if sampler else None)
        problems = nsys.export(folder) if with_ else []
        for line in [*sentences(reports_in(reports), settings), *about_samples(sampler), *problems]:
            typer.echo(f"stepscope: {line}.", err=True)
    if folder.is_dir() and any(path.suffix != ".jsonl" for path in folder.iterdir()) and not no_report:
        _diagnose(folder)
    raise typer.Exit(status)


def _diagnose(folder: Path) -> None:
    """Print what `stepscope analyze` says; a sentence where it can't, since the exit status is the program's."""
    import sys

    from stepscope.cli.opening import open_input
    from stepscope.model.errors import StepscopeError
    from stepscope.reports import terminal
    from stepscope.reports.build import ReportOptions, build_report

    try:
        with open_input([folder], cache=True, store=None) as trace:
            terminal.write(build_report(trace, ReportOptions(page=True)), sys.stdout, top=10)
    except StepscopeError as error:
        typer.echo(f"stepscope: {error}.", err=True)


def _range(steps: str) -> tuple[int, int]:
    from stepscope.model.errors import UserError

    first, colon, stop = steps.partition(":")
    if not (colon and first.isdecimal() and stop.isdecimal() and int(first) < int(stop)):
        raise UserError(
            f"--steps {steps} is no range of steps", hint="give the first step and the one after the last, as 10:14"
        )
    return int(first), int(stop)


def _signal(name: str | None) -> str:
    """The full name of a signal that asks for recordings; empty for none."""
    from stepscope.model.errors import UserError

    full = f"SIG{name.upper().removeprefix('SIG')}" if name else ""
    if full not in ("", "SIGUSR1", "SIGUSR2"):
        raise UserError(f"--signal {name} can't ask for recordings", hint="give USR1 or USR2")
    return full


def _known_trigger(name: str | None) -> None:
    from stepscope.model.errors import UserError

    if name not in (None, "slow-step"):
        raise UserError(f"no trigger is called {name}", hint="give --trigger slow-step")


def _known_profiler(name: str | None, options: list[str] | None) -> None:
    from stepscope.model.errors import UserError

    if name not in (None, "nsys"):
        raise UserError(f"--with {name} is no profiler", hint="give --with nsys, or leave it out for torch.profiler")
    if options and name is None:
        raise UserError("--nsys-option is for Nsight Systems", hint="give --with nsys, too")


def _numbers(ranks: str | None) -> tuple[int, ...]:
    from stepscope.model.errors import UserError

    parts = ranks.split(",") if ranks else []
    if not all(part.strip().isdecimal() for part in parts):
        raise UserError(f"--ranks {ranks} is no list of ranks", hint="give numbers with commas between them, as 0,7")
    return tuple(int(part) for part in parts)
