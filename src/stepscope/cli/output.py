"""Write results: to a file that appears only when it is complete, or to standard output."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from stepscope.model.errors import UserError

#: The name that stands for standard output.
STDOUT: Final = Path("-")


@contextmanager
def writing(path: Path, inputs: Sequence[Path] = ()) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place if the block succeeds.

    Raises:
        UserError: `path` is one of `inputs`, or can't be written.
    """
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise UserError(f"{path} is an input", hint="write to another file")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise UserError(f"{path} can't be written ({error.strerror})", hint="choose another place") from error
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def text_output(path: Path | None, inputs: Sequence[Path] = ()) -> Iterator[IO[str]]:
    """A text file to write to: `path`, or standard output for None and `-`."""
    if path is None or path == STDOUT:
        yield sys.stdout
        return
    with writing(path, inputs) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as opened:
        yield opened


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
