"""Options of `stepscope try` that are written behind the program, where they can't be meant for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import typer

from stepscope.language import said, told

#: Options with a value that are looked for there; others, such as `--steps`, many programs have themselves.
_NAMES: Final = ("--json", "--minutes", "--only")


@dataclass(slots=True)
class OwnOptions:
    """What was found behind the program.

    Attributes:
        json: File for JSON.
        minutes: How long it may take; 0 if that was not said.
        only: Names of remedies.
    """

    json: Path | None = None
    minutes: float = 0.0
    only: list[str] = field(default_factory=list)


def own_options(program: Sequence[str], given: Sequence[str]) -> tuple[list[str], OwnOptions]:
    """Split a program with its arguments from options of ours.

    What stands behind a program is the program's. But `train.py --json out.json` is often meant for us: so it is taken
    where the program is a Python file that does not name the option. Behind `--` everything is the program's.

    Args:
        program: The program and what stands behind it.
        given: All arguments of this process.
    """
    found = OwnOptions()
    separated = list(given[-len(program) - 1 : -len(program)]) == ["--"]
    file = Path(program[0])
    if separated or file.suffix != ".py" or not file.is_file():
        return list(program), found
    source = file.read_text(encoding="utf-8", errors="replace")
    kept: list[str] = []
    rest = iter(program)
    for one in rest:
        name, joined, value = one.partition("=")
        if name not in _NAMES or name in source:
            kept.append(one)
            continue
        value = value if joined else next(rest, "")
        if not value:
            raise typer.BadParameter("it needs a value", param_hint=name)
        _take(found, name, value)
        hint = said(
            "{name} {value} is taken as an option of stepscope's, since {program} does not name it",
            name=name,
            value=value,
            program=file.name,
        )
        typer.echo(told(said("stepscope: {hint}; behind -- it is the program's.", hint=hint)), err=True)
    return kept, found


def _take(found: OwnOptions, name: str, value: str) -> None:
    if name == "--json":
        found.json = Path(value)
    elif name == "--only":
        found.only.append(value)
    else:
        try:
            found.minutes = float(value)
        except ValueError:
            found.minutes = -1.0
        if not found.minutes >= 0.1:
            raise typer.BadParameter(
                said("{value} is no number of minutes of 0.1 or more", value=value), param_hint=name
            )
