"""``stepscope attach``: record the next steps of a program that runs already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.language import said, told

Pid = Annotated[
    int | None,
    typer.Argument(metavar="[PID]", min=1, help="A process of the job, or what started it, as torchrun."),
]
Port = Annotated[
    int | None, typer.Option("--port", metavar="N", help="The job whose ranks meet at this port (MASTER_PORT) instead.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Folder for the recordings; named after the time if not given."),
]
Steps = Annotated[int, typer.Option("--steps", min=1, metavar="N", help="Record so many steps: 4.")]
AttachWarmup = Annotated[
    int, typer.Option("--warmup", min=0, metavar="N", help="Steps before these with the profiler on, thrown away: 2.")
]
NoShapes = Annotated[bool, typer.Option("--no-shapes", help="Leave out the shapes of operators' inputs.")]
NoStacks = Annotated[bool, typer.Option("--no-stacks", help="Leave out Python functions, which cost most.")]
Allocations = Annotated[bool, typer.Option("--allocations", help="Record allocations of tensors, too.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not print the diagnosis.")]
Timeout = Annotated[
    float, typer.Option("--timeout", min=1, metavar="SECONDS", help="Wait so long for the end of a step: 60.")
]
Prepare = Annotated[
    str | None,
    typer.Option(
        "--prepare",
        metavar="shell|python|undo",
        help="Have programs wait to be asked: prints what a shell is to set, or has this Python do so at each start.",
    ),
]


def attach(
    pid: Pid = None,
    port: Port = None,
    output: Output = None,
    steps: Steps = 4,
    warmup: AttachWarmup = 2,
    no_shapes: NoShapes = False,
    no_stacks: NoStacks = False,
    allocations: Allocations = False,
    timeout: Timeout = 60.0,
    no_report: NoReport = False,
    prepare: Prepare = None,
) -> None:
    """Record the next steps of a program that runs already, on all ranks of its job, and print the diagnosis.

    The program was started with `stepscope record --wait` or `--watch`, or prepared with `--prepare`. Without a process
    or a port it is the only job there is.
    """
    from stepscope.cli.recording.diagnosis import diagnose
    from stepscope.model.errors import UserError
    from stepscope.record.folders import recording_folder
    from stepscope.record.job.watch.control import waiting_settings
    from stepscope.record.outcome import sentences
    from stepscope.record.watching.attaching import ask, processes_of, wait, withdraw
    from stepscope.record.watching.kineto_daemon import record_by_daemon
    from stepscope.record.watching.preparing import prepared
    from stepscope.record.watching.private import control_folder

    control = control_folder()
    if prepare is not None:
        typer.echo(prepared(prepare, control))
        return
    with recording_folder(output) as (folder, _):
        try:
            processes = processes_of(control, pid, port, timeout)
        except UserError as error:
            if pid is None or not record_by_daemon(pid, folder, timeout, error):
                raise
            processes = []
        if processes:
            options = {
                "warmup": warmup, "shapes": not no_shapes, "stacks": not no_stacks, "allocations": allocations,
            }  # fmt: skip
            try:
                ask(processes, control, folder, steps, options)
                reports, missing = wait(processes, folder, timeout)
            finally:
                withdraw(processes, control)
            of = max(one.world_size for one in processes)
            if len(processes) < of:
                missing.append(
                    said(
                        "{processes} of {of} ranks run on this machine; attach on the others, too",
                        processes=len(processes),
                        of=of,
                    )
                )
            for line in [*(sentences(reports, waiting_settings(control)) if reports else []), *missing]:
                typer.echo(told(said("stepscope: {line}.", line=line)), err=True)
            if not reports:
                raise UserError("nothing was recorded", hint="see whether its loop runs, or give a longer --timeout")
    if not no_report:
        diagnose(folder)
