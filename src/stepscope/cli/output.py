"""Write results: to a file that appears only when it is complete, to a pipe or device, or to standard output."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from stepscope.cli.unfinished import prefix, remove_leftovers
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.process.leaving import made_to_go, stays

#: The name that stands for standard output.
STDOUT: Final = Path("-")

#: What the system calls the files that this process has open already.
_OPEN_FILES: Final = re.compile(r"/dev/fd/(\d+)|/proc/(?:self|thread-self|\d+)/fd/(\d+)")
_NAMED_FILES: Final = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
#: Links are followed so far.
_MOST_LINKS: Final = 40


def check_output(path: Path | None, inputs: Sequence[Path] = ()) -> None:
    """Refuse early what can't be written in the end, or would overwrite what is being read.

    Raises:
        UserError: `path` is an input, a recording in one, or a folder, or can't be written.
    """
    if path is None or path == STDOUT or _descriptor(path) is not None:
        return
    with _refusals(path):
        with suppress(FileNotFoundError):
            path.stat()  # says what else may be wrong with it
        if path.is_dir():
            raise UserError(said("{path} is a folder", path=path), hint="give the name of a file")
        if not path.exists():
            _check_folder(path.resolve().parent)
        elif path.is_file():
            if any(given.exists() and path.samefile(given) for given in inputs):
                raise UserError(said("{path} is an input", path=path), hint="write to another file")
            # What recognises recordings takes a while to import.
            from stepscope.ingest.recognise import holds

            if holds(inputs, path):
                raise UserError(said("{path} is a recording of the input", path=path), hint="write to another file")
            _check_folder(path.resolve().parent)
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied", str(path))


def check_distinct(outputs: Mapping[str, Path]) -> None:
    """Refuse outputs of which one would overwrite another.

    Args:
        outputs: The options of the command line without their dashes, each with where it is to write.

    Raises:
        UserError: Two of them lead to the same file, or to standard output.
    """
    places: dict[str, str] = {}
    for option, path in outputs.items():
        descriptor = 1 if path == STDOUT else _descriptor(path)
        place = str(path.resolve()) if descriptor is None else said("descriptor {descriptor}", descriptor=descriptor)
        if place in places and not _is_special(path):
            raise UserError(
                said("--{places} and --{option} both write to {path}", places=places[place], option=option, path=path),
                hint="give each a name of its own",
            )
        places[place] = option


@contextmanager
def writing(path: Path, inputs: Sequence[Path] = ()) -> Iterator[Path]:
    """A temporary path whose content goes to `path` if the block succeeds: at once, where that is a file or nothing.

    Links are followed. What is no file, such as a pipe or a device, is written to and stays what it is.

    Raises:
        UserError: `path` can't be written, or must not be: see `check_output`.
    """
    check_output(path, inputs)
    with _refusals(path):
        descriptor = _descriptor(path)
        if descriptor is not None or _is_special(path):
            with _aside() as temporary:
                yield temporary
                target = path if descriptor is None else os.dup(descriptor)
                with temporary.open("rb") as done, open(target, "wb") as out:  # noqa: PTH123 - a descriptor has no path
                    _flush()
                    shutil.copyfileobj(done, out)
            return
        final = path.resolve()
        remove_leftovers(final)
        temporary = made_to_go(lambda: _new_file(final))
        try:
            yield temporary
            temporary.chmod(stat.S_IMODE(final.stat().st_mode) if final.exists() else 0o666 & ~_umask())
            temporary.replace(final)
        finally:
            temporary.unlink(missing_ok=True)
            stays(temporary)


def _new_file(final: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=prefix(final), dir=final.parent)
    os.close(handle)
    return Path(name)


@contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `path` if the block succeeds.

    Raises:
        UserError: `path` exists and is no empty folder, or can't be written.
    """
    with _refusals(path):
        check_folder(path)
        final = path.resolve()
        final.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(final)
        temporary = made_to_go(lambda: Path(tempfile.mkdtemp(prefix=prefix(final), dir=final.parent)))
        try:
            yield temporary
            temporary.chmod(0o777 & ~_umask())
            temporary.replace(final)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            stays(temporary)


def check_folder(path: Path) -> None:
    """Refuse a folder of outputs that is there already.

    Raises:
        UserError: `path` is a file, or a folder that is not empty.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(said("{path} exists already and is no empty folder", path=path), hint="choose a new one")


@contextmanager
def text_output(path: Path | None, inputs: Sequence[Path] = ()) -> Iterator[IO[str]]:
    """A text file to write to: `path`, or standard output for None and `-`.

    Raises:
        UserError: `path` can't be written, or must not be: see `check_output`.
    """
    descriptor = 1 if path is None or path == STDOUT else _descriptor(path)
    if path is None or descriptor == 1:
        yield sys.stdout
        return
    if descriptor is None and not _is_special(path):
        with writing(path, inputs) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as opened:
            yield opened
        return
    with _refusals(path):
        target = path if descriptor is None else os.dup(descriptor)
        with open(target, "w", encoding="utf-8", newline="\n") as opened:  # noqa: PTH123 - a descriptor has no path
            yield opened


@contextmanager
def _aside() -> Iterator[Path]:
    """A temporary file far from where its content goes."""
    from stepscope.model.process.scratch import remove_scratch, scratch_folder

    folder = scratch_folder()
    try:
        yield folder / "output"
    finally:
        remove_scratch(folder)


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Say in a sentence why something can't be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except Exception as error:
        from stepscope.store.failures import storage_failure

        reason = storage_failure(error, path.absolute().parent)
        if reason is None:
            raise
        raise UserError(
            said("{path} can't be written ({reason})", path=path, reason=reason), hint="choose another place"
        ) from error


def _check_folder(folder: Path) -> None:
    if not folder.exists():
        raise FileNotFoundError(2, "No such file or directory", str(folder))
    if not folder.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "Permission denied", str(folder))


def _descriptor(path: Path) -> int | None:
    """The open file of this process that a path stands for, if it does: to open it anew would begin at its start."""
    text = os.path.abspath(path)  # noqa: PTH100 - links are looked at one by one
    for _ in range(_MOST_LINKS):
        if text in _NAMED_FILES:
            return _NAMED_FILES[text]
        if found := _OPEN_FILES.fullmatch(text):
            return int(found[1] or found[2])
        try:
            text = os.path.normpath(os.path.join(os.path.dirname(text), os.readlink(text)))  # noqa: PTH115,PTH118,PTH120
        except OSError:
            return None
    return None


def _is_special(path: Path) -> bool:
    """Whether something is there that is neither a file nor a folder."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _flush() -> None:
    """What was printed comes before what is written to the same place by another way."""
    sys.stdout.flush()
    sys.stderr.flush()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
