"""Open an input as the options of a command say, with a progress bar where it takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, TypedDict

from stepscope.language import said, told
from stepscope.model.process.leaving import before_leaving

if TYPE_CHECKING:
    from stepscope.ingest import Inputs
    from stepscope.ingest.summed import SummedJob
    from stepscope.ingest.workers import MakeWorkers
    from stepscope.model.trace import Trace
    from stepscope.store.stated import StatedDevice

#: Shorter work shows no progress bar, s.
_SHOWN_AFTER_SECONDS: Final = 2.0


class ProgressReport(Protocol):
    """Shows what is being done, how much of it is done, and how much there is; 0 where that is not known."""

    def __call__(self, what: str, done: int, total: int, verb: str = "", /) -> None:
        """Show it; `verb` says what is done, if something else than usual."""


class OpenOptions(TypedDict):
    """What several commands pass to `open_input` as it was given."""

    cache: bool
    store: Path | None
    run: str | None
    span: int | None
    stated: StatedDevice | None


def open_input(
    paths: Sequence[Path],
    *,
    cache: bool,
    store: Path | None,
    run: str | None = None,
    span: int | None = None,
    stated: StatedDevice | None = None,
    locked: bool = False,
    workers: MakeWorkers | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Trace:
    """Open files and folders as one trace.

    Args:
        paths: The files and folders.
        cache: Keep what was read for the next time, and use what was kept.
        store: Folder to keep it in; None for the user's cache folder.
        run: Which run to open; None for the last.
        span: Which recording of each rank to open; None for the last that most ranks have.
        stated: What the user states of the devices.
        locked: For the SQL of strangers.
        workers: Makes what recordings are read on; None for processes of this machine.
        meanwhile: Called repeatedly while a recording is being read.
    """
    from stepscope.ingest import Options, open_trace

    with progress(said("reading")) as show:

        def report(what: str, done: int, total: int) -> None:
            if meanwhile is not None:
                meanwhile()
            show(what, done, total)

        options = Options(
            cache=cache, store=store, report=report, looking=_looking(show), say=_say, run=run, span=span,
            workers=workers, stated=stated, locked=locked,
        )  # fmt: skip
        return open_trace(paths, options)


def stated_device(device: str | None, memory: str | None) -> StatedDevice | None:
    """What `--device` and `--memory` state; None if neither is given.

    Raises:
        UserError: There is no such device, or the size is none.
    """
    if device is None and memory is None:
        return None
    from stepscope.store.stated import StatedDevice

    return StatedDevice.of(device, memory)


@contextmanager
def open_inputs(
    inputs: Sequence[Sequence[Path]],
    *,
    cache: bool,
    store: Path | None,
    stated: StatedDevice | None = None,
    locked: bool = False,
) -> Iterator[Inputs]:
    """Several inputs, whose recordings are read side by side before the first of them is opened.

    Args:
        inputs: The files and folders of each.
        cache: Keep what was read for the next time, and use what was kept.
        store: Folder to keep it in; None for the user's cache folder.
        stated: What the user states of the devices.
        locked: For the SQL of strangers.
    """
    from stepscope.ingest import Inputs, Options

    with progress(said("reading")) as show:
        options = Options(
            cache=cache, store=store, report=show, looking=_looking(show), say=_say, stated=stated, locked=locked
        )
        opened = Inputs(inputs, options)
    with opened:
        yield opened


def open_summed(
    paths: Sequence[Path],
    *,
    cache: bool,
    store: Path | None,
    run: str | None = None,
    span: int | None = None,
    stated: StatedDevice | None = None,
    by_step: bool = False,
) -> SummedJob | None:
    """The ranks of a job whose profiler's sums can be read without events; None if they can't.

    Args:
        paths: The files and folders.
        cache: For ranks that have to be read as a whole; as for `open_input`.
        store: The same.
        run: Which run to open; None for the last.
        span: Which recording of each rank to open; None for the last that most ranks have.
        stated: What the user states of the devices, where a rank has to be read as a whole.
        by_step: Whether kernels are asked for by step.
    """
    from stepscope.ingest import Options
    from stepscope.ingest.summed import summed_job

    with progress(said("reading")) as show:
        options = Options(cache=cache, store=store, looking=_looking(show), say=_say, run=run, span=span, stated=stated)
        return summed_job(paths, options, by_step)


def _looking(show: ProgressReport) -> Callable[[Path, int], None]:
    """Shows what is being looked at to find recordings."""

    def looking(path: Path, number: int) -> None:
        show(str(path), number, 0, said("looking through"))

    return looking


def _say(sentence: str) -> None:
    import typer

    from stepscope.reports.text import visible

    typer.echo(told(said("stepscope: {sentence}.", sentence=visible(sentence))), err=True)


@contextmanager
def progress(verb: str) -> Iterator[ProgressReport]:
    """A function that shows how far the work is: on a terminal, and once it has taken two seconds."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    started = monotonic()
    bar: Any = None
    task: Any = None
    stopped = False

    def report(what: str, done: int, total: int, instead: str = "", /) -> None:
        nonlocal bar, task
        if stopped:
            return
        if bar is None:
            if monotonic() - started < _SHOWN_AFTER_SECONDS:
                return
            bar = _bar()
            bar.start()
            task = bar.add_task(told(verb), total=None)
        bar.update(task, description=_described(instead or verb, what), completed=done, total=total or None)

    def stop() -> None:
        nonlocal stopped
        stopped = True
        if bar is not None:
            bar.stop()

    try:
        with before_leaving(stop):  # a bar hides the cursor
            yield report
    finally:
        stop()


def _described(verb: str, what: str) -> str:
    from rich.markup import escape

    from stepscope.reports.text import visible

    return escape(visible(f"{told(verb)} {told(what)[-48:]}"))


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
