"""The files that ``stepscope compare`` is asked to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import typer

from stepscope.language import said, told


def wanted_files(given: Mapping[str, Path | None], inputs: Sequence[Path]) -> dict[str, Path]:
    """The files asked for, by kind; refused before anything is read if one can't be written.

    Raises:
        UserError: A file can't be written, is an input, or would be a workbook on standard output.
    """
    from stepscope.cli.output import STDOUT, check_distinct, check_output
    from stepscope.model.errors import UserError

    wanted = {kind: path for kind, path in given.items() if path is not None}
    check_distinct(wanted)
    for kind, path in wanted.items():
        if kind == "xlsx" and path == STDOUT:
            raise UserError("a workbook can't be written to standard output", hint="give --xlsx a file name")
        check_output(path, inputs)
    return wanted


def write_files(
    wanted: Mapping[str, Path],
    inputs: Sequence[Path],
    texts: Mapping[str, Callable[[], str]],
    workbook: Callable[[Path], None],
) -> None:
    """Write files of each kind.

    Args:
        wanted: The files by kind.
        inputs: What was read, which is not overwritten.
        texts: Makes the content of a kind of file.
        workbook: Writes a workbook to a path.
    """
    from stepscope.cli.output import STDOUT, text_output, writing

    for kind, path in wanted.items():
        if kind == "xlsx":
            with writing(path, inputs) as temporary:
                workbook(temporary)
        else:
            with text_output(path, inputs) as out:
                out.write(texts[kind]())
        if path != STDOUT:
            typer.echo(told(said("wrote {path}", path=path)), err=True)
