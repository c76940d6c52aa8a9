"""The recordings that an agent may ask about: those given at the start, opened when they are first asked for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.model.trace import Trace
from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.report import Report

#: Recordings that are open at a time; the one that was asked longest ago is closed first.
_OPEN: Final = 4

OpenTrace = Callable[[Path], Trace]


class OpenRecording:
    """An open recording with its report, which is made once.

    Args:
        name: What agents call it.
        trace: Opened for the SQL of strangers.
    """

    def __init__(self, name: str, trace: Trace) -> None:
        self.name = name
        self.trace = trace
        self._lock = threading.Lock()

    @property
    def report(self) -> Report:
        """Everything that is to be said about it."""
        with self._lock:
            return self._report

    @cached_property
    def _report(self) -> Report:
        return build_report(self.trace, ReportOptions())


@dataclass(frozen=True, slots=True)
class Offered:
    """A recording that may be asked about: its name and where it is."""

    name: str
    path: Path


class Recordings:
    """The recordings by name, which agents give instead of paths; nothing else can be opened.

    Args:
        paths: Files and folders, each of them one recording.
        open_trace: Opens one of them.
    """

    def __init__(self, paths: Sequence[Path], open_trace: OpenTrace) -> None:
        self.offered = _named(paths)
        self._open_trace = open_trace
        self._open: OrderedDict[str, OpenRecording] = OrderedDict()
        self._lock = threading.Lock()

    def path(self, name: str) -> Path:
        """Where a recording is; the name may be left empty where there is one alone.

        Raises:
            UserError: There is no such recording.
        """
        if not name and len(self.offered) == 1:
            return self.offered[0].path
        for one in self.offered:
            if one.name == name:
                return one.path
        names = [one.name for one in self.offered]
        what = said("no recording is called {name!r}", name=name) if name else said("several recordings are open")
        raise UserError(what, hint=said("{choose}; call `recordings`", choose=choose(name, names)))

    def get(self, name: str = "") -> OpenRecording:
        """An open recording.

        Raises:
            UserError: There is no such recording, or it can't be opened.
        """
        path = self.path(name)
        known = next(one.name for one in self.offered if one.path == path)
        with self._lock:
            if known not in self._open:
                self._open[known] = OpenRecording(known, self._open_trace(path))
            self._open.move_to_end(known)
            while len(self._open) > _OPEN:
                _, oldest = self._open.popitem(last=False)
                oldest.trace.close()
            return self._open[known]

    def close(self) -> None:
        """Close all that are open."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].trace.close()


def _named(paths: Sequence[Path]) -> tuple[Offered, ...]:
    """Each path with the shortest end of it that no other has."""
    found = []
    for path in dict.fromkeys(one.resolve() for one in paths):
        for length in range(1, len(path.parts) + 1):
            name = "/".join(path.parts[-length:])
            if sum(name == "/".join(other.resolve().parts[-length:]) for other in set(paths)) == 1:
                break
        found.append(Offered(name, path))
    return tuple(found)
