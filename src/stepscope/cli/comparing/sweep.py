"""``stepscope compare A B C ...``: several recordings by batch size or number of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.language import said

if TYPE_CHECKING:
    from stepscope.cli.opening import OpenOptions

At = Annotated[
    str | None,
    typer.Option("--at", metavar="NUMBERS", help="Batch sizes or numbers of ranks of the inputs, as in 8,16,32."),
]
By = Annotated[
    str | None, typer.Option("--by", metavar="batch|ranks", help="Order a sweep by this; by what differs if not given.")
]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Of a sweep, write its table; `-` for output.")]


def is_sweep(paths: Sequence[Path], at: str | None, by: str | None, csv: Path | None) -> bool:
    """Whether inputs and options mean a sweep, not a base and what is held against it.

    Raises:
        UserError: An option of sweeps stands beside one input.
    """
    from stepscope.model.errors import UserError

    asked = [name for name, value in (("--at", at), ("--by", by), ("--csv", csv)) if value is not None]
    if asked and len(paths) < 2:
        raise UserError(said("{asked} is about several recordings", asked=asked[0]), hint="give two or more")
    return len(paths) > 2 or bool(asked)


def sweep(
    paths: Sequence[Path],
    files: Mapping[str, Path],
    at: str | None,
    by: str | None,
    rank: int | None,
    inputs: OpenOptions,
    refused: Mapping[str, object],
) -> None:
    """Put recordings beside each other.

    Args:
        paths: The recordings.
        files: What to write, by kind.
        at: As of `--at`.
        by: As of `--by`.
        rank: Rank of every recording; None for the one that waits least.
        inputs: How to open each.
        refused: Options that only two recordings have, by name, with what was given for them.

    Raises:
        UserError: Options do not go with a sweep, or with each other.
    """
    import sys

    from stepscope.cli.comparing.files import write_files
    from stepscope.cli.opening import open_inputs
    from stepscope.comparison.sweep.axis import check_axis, numbers_given
    from stepscope.comparison.sweep.point import point_of
    from stepscope.comparison.sweep.result import sweep_of
    from stepscope.model.errors import UserError
    from stepscope.reports import terminal
    from stepscope.reports.swept import workbook, written
    from stepscope.reports.swept.page import outline

    if given := [name for name, value in refused.items() if value]:
        raise UserError(
            said("{given} is about two recordings, not a sweep", given=given[0]), hint="leave it out, or compare two"
        )
    numbers = numbers_given(at)
    check_axis(len(paths), numbers, by)
    points = []
    with open_inputs(
        [[path] for path in paths], cache=inputs["cache"], store=inputs["store"], stated=inputs["stated"]
    ) as opened:
        for number in range(len(paths)):
            with opened.open(number, inputs["run"], inputs["span"]) as trace:
                points.append(point_of(trace, rank))
    found = sweep_of(points, numbers, by)
    texts = {kind: partial(text, found) for kind, text in written.TEXTS.items()}
    write_files(files, paths, texts, partial(workbook.write, found))
    if not files:
        terminal.write_page(outline(found), sys.stdout)
