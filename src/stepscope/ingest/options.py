"""Options of opening an input."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stepscope.ingest.workers import MakeWorkers
from stepscope.store.stated import StatedDevice

#: Called with (what is being done, bytes done, bytes in all).
Report = Callable[[str, int, int], None]


def _log(sentence: str) -> None:
    logging.getLogger("stepscope").warning("%s", sentence)


@dataclass(frozen=True, slots=True)
class Options:
    """How to open an input.

    Attributes:
        cache: Use cached stores, and cache what is read.
        store: Cache folder; None for the user's.
        report: Called with the progress.
        looking: Called with each file or folder before it is looked at, and the number of those before it.
        say: Called with a sentence on problems that do not concern the recording: that nothing can be cached, and why.
        run: Which run to open, a sub-folder of the input; None for the one that was recorded last.
        span: Which recording of each rank to open, from 1 in time order; None for the last that most ranks have.
        workers: Makes what recordings are read on, from the number of tasks and the bytes that each needs; None for
            processes of this machine.
        stated: What the user states of the devices; None for nothing.
        locked: Restrict queries to the store's files, without network or settings: for untrusted SQL.
    """

    cache: bool = True
    store: Path | None = None
    report: Report = lambda *_: None
    looking: Callable[[Path, int], None] = lambda *_: None
    say: Callable[[str], None] = _log
    run: str | None = None
    span: int | None = None
    workers: MakeWorkers | None = None
    stated: StatedDevice | None = None
    locked: bool = False
