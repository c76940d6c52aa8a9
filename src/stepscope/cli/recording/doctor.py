"""``stepscope doctor``: what a machine and an environment would do to a job, without running it."""

from __future__ import annotations

from typing import Annotated

import typer

Program = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PROGRAM...]", help="A Python file or a command, with its arguments; it is not run."),
]
Data = Annotated[
    list[str] | None, typer.Option("--data", metavar="PATH", help="Where the program reads data; may be repeated.")
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def doctor(program: Program = None, data: Data = None, json: AsJson = False) -> None:
    """Look at the machine and the environment of a job without running it, and say what to change."""
    from stepscope.cli.recording import doctor_output as output
    from stepscope.cli.recording.starting import command_of
    from stepscope.cli.speed import given_environment
    from stepscope.doctor.examine import examine
    from stepscope.doctor.machine import Machine
    from stepscope.doctor.probe.gather import gather

    command = tuple(command_of(program)) if program else ()
    machine = Machine(program=command, data=tuple(data or ()), environ=given_environment())
    findings = examine(gather(machine))
    if json:
        from json import dumps

        typer.echo(dumps(output.json(findings), indent=2))
        return
    typer.echo(output.text(findings), nl=False)
