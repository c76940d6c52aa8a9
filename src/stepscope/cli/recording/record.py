"""``stepscope record``: run a program, record a few of its steps, and say where the time went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from stepscope.language import said, told

#: How many times the usual length makes a step slow, to a trigger alone and to what watches all steps.
_SLOW: Final = 2.0
_SLOW_WATCHED: Final = 1.5
#: A jump of memory is this share of the most before.
_JUMP: Final = 0.25

Program = Annotated[
    list[str], typer.Argument(metavar="PROGRAM...", help="A Python file or a command, with its arguments.")
]
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
Watch = Annotated[
    bool,
    typer.Option(
        "--watch", help="Keep the times of all steps, and record when one is slow, memory jumps or ranks drift apart."
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="Record nothing until `stepscope attach` asks.")]
Slow = Annotated[
    float | None,
    typer.Option(
        "--slow",
        min=1.05,
        metavar="FACTOR",
        help="How many times the usual length makes a step slow: 1.5 with --watch.",
    ),
]
Keep = Annotated[
    int, typer.Option("--keep", min=1, metavar="N", help="Recordings that --watch keeps: 10. The oldest are removed.")
]
KeepMib = Annotated[
    int, typer.Option("--keep-mib", min=1, metavar="N", help="MiB that they take: 2048. The newest stays in any case.")
]
Cooldown = Annotated[
    float,
    typer.Option(
        "--cooldown", min=0, metavar="SECONDS", help="In so many seconds, 60, --watch makes three recordings by itself."
    ),
]
Prometheus = Annotated[
    int | None,
    typer.Option(
        "--prometheus", min=0, max=65535, metavar="PORT", help="Answer with metrics of the watched job on this port."
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
    watch: Watch = False,
    wait: Wait = False,
    slow: Slow = None,
    keep: Keep = 10,
    keep_mib: KeepMib = 2048,
    cooldown: Cooldown = 60.0,
    prometheus: Prometheus = None,
) -> None:
    """Run a program unchanged, record a few of its steps with torch.profiler, and print the diagnosis.

    The program's output and exit status are its own. Each rank writes a recording.
    """
    from stepscope.cli.recording.diagnosis import diagnose
    from stepscope.cli.recording.starting import command_of
    from stepscope.cli.recording.watching import watching
    from stepscope.cli.speed import given_environment
    from stepscope.model.errors import UserError
    from stepscope.record import nsys
    from stepscope.record.folders import recording_folder
    from stepscope.record.launch import run
    from stepscope.record.machine.sampler import MachineSampler
    from stepscope.record.outcome import about_samples, reports_in, sentences
    from stepscope.record.ring.layout import STEPS
    from stepscope.record.settings import RecordSettings
    from stepscope.record.triggers.keeping import recordings_in
    from stepscope.record.triggers.request import WATCHED
    from stepscope.record.watching.private import control_folder

    first, stop = _range(steps or "10:14")
    asks = _signal(signal)
    _known_trigger(trigger)
    _known_profiler(with_, nsys_option)
    lasting = watch or wait
    if with_ and lasting:
        raise UserError("--with nsys can't be started later", hint="leave out --with, --watch or --wait")
    if prometheus is not None and not watch:
        raise UserError("--prometheus tells of a watched job", hint="give --watch, too")
    with recording_folder(output, watched=watch) as (folder, reports):
        asking = {asks: reports / "asked"} if asks else {}
        requests = [*asking.values(), *([touch.absolute()] if touch else [])]
        settings = RecordSettings(
            str(folder), str(reports), first, stop, warmup, _numbers(ranks),
            shapes=not no_shapes, stacks=not no_stacks, allocations=allocations, memory=memory,
            profiler=with_ or "torch", patience_s=0.0 if lasting else patience,
            scheduled=bool(steps or every) or not (requests or trigger or lasting), every=every or 0,
            requests=tuple(map(str, requests)), slow=slow or (_SLOW if trigger else _SLOW_WATCHED if watch else 0.0),
            ring=STEPS if watch else 0, jump=_JUMP if watch else 0.0, cooldown_s=cooldown,
            keep=keep if watch else 0, keep_bytes=keep_mib << 20, control=str(control_folder()) if lasting else "",
        )  # fmt: skip
        started = command_of(program)
        command = nsys.profiled(started, settings, nsys_option or []) if with_ else started
        hidden, before = (folder / WATCHED, recordings_in(folder)) if watch else (None, [])
        sampler = None if no_machine else MachineSampler(folder, reports, watched=hidden)
        with watching(settings, sampler, prometheus) as watched:
            status = run(
                command, settings, given_environment(), asking, sampler.start if sampler else None, tied=not lasting
            )
        problems = nsys.export(folder) if with_ else []
        for line in [*sentences(reports_in(reports), settings), *about_samples(sampler), *watched, *problems]:
            typer.echo(told(said("stepscope: {line}.", line=line)), err=True)
    made = recordings_in(folder) if watch else [folder] if folder.is_dir() else []
    # A program may end before the steps that its last reason asked for.
    found = [one for one in made if one not in before and any(map(_is_recording, one.iterdir()))]
    if found and not no_report:
        diagnose(found[-1])
    raise typer.Exit(status)


def _is_recording(path: Path) -> bool:
    """Whether a file of a folder of recordings is no sample of the machine, and none of our own."""
    return path.suffix != ".jsonl" and not path.name.startswith(".")


def _range(steps: str) -> tuple[int, int]:
    from stepscope.model.errors import UserError

    first, colon, stop = steps.partition(":")
    if not (colon and first.isdecimal() and stop.isdecimal() and int(first) < int(stop)):
        raise UserError(
            said("--steps {steps} is no range of steps", steps=steps),
            hint="give the first step and the one after the last, as 10:14",
        )
    return int(first), int(stop)


def _signal(name: str | None) -> str:
    """The full name of a signal that asks for recordings; empty for none."""
    from stepscope.model.errors import UserError

    full = f"SIG{name.upper().removeprefix('SIG')}" if name else ""
    if full not in ("", "SIGUSR1", "SIGUSR2"):
        raise UserError(said("--signal {name} can't ask for recordings", name=name), hint="give USR1 or USR2")
    return full


def _known_trigger(name: str | None) -> None:
    from stepscope.model.errors import UserError

    if name not in (None, "slow-step"):
        raise UserError(said("no trigger is called {name}", name=name), hint="give --trigger slow-step")


def _known_profiler(name: str | None, options: list[str] | None) -> None:
    from stepscope.model.errors import UserError

    if name not in (None, "nsys"):
        raise UserError(
            said("--with {name} is no profiler", name=name), hint="give --with nsys, or leave it out for torch.profiler"
        )
    if options and name is None:
        raise UserError("--nsys-option is for Nsight Systems", hint="give --with nsys, too")


def _numbers(ranks: str | None) -> tuple[int, ...]:
    from stepscope.model.errors import UserError

    parts = ranks.split(",") if ranks else []
    if not all(part.strip().isdecimal() for part in parts):
        raise UserError(
            said("--ranks {ranks} is no list of ranks", ranks=ranks),
            hint="give numbers with commas between them, as 0,7",
        )
    return tuple(int(part) for part in parts)
