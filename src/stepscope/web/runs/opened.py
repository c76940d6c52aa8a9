"""The runs that are open: the last few that were asked for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepscope.web.runs.chosen import Chosen
from stepscope.web.runs.finding import Run
from stepscope.web.runs.opening import Opening
from stepscope.web.runs.watching import Watching

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.reports.selection import ReportOptions

#: Inputs that are open at a time; an open one takes some hundred megabytes.
_MOST: Final = 3


class OpenedRuns:
    """Opens runs when they are asked for, and closes the one that was not for longest.

    Args:
        watching: Knows the runs.
        store: Folder to keep what is read in; None for the user's cache folder.
        options: What reports are to contain; asked for once per report.
        most: Inputs that are open at a time.
    """

    def __init__(
        self,
        watching: Watching,
        store: Path | None = None,
        options: Callable[[], ReportOptions] | None = None,
        most: int = _MOST,
    ) -> None:
        self.watching = watching
        self._store, self._most = store, most
        self._options = options or default_options
        self._guard = threading.Lock()
        self._opened: OrderedDict[tuple[str, int | None], tuple[str, Opening]] = OrderedDict()

    def opening(self, chosen: Chosen, anew: bool = False) -> Opening | None:
        """The input that an address names; None if there is no such run.

        Args:
            chosen: What the address names.
            anew: Open it again where its files have changed since.
        """
        place = chosen.key, chosen.span
        with self._guard:
            known = self._opened.get(place)
        if known is not None and not anew:
            with self._guard:
                self._opened[place] = known
                self._opened.move_to_end(place)
            return known[1]
        run = self.watching.run(chosen.key)
        if run is None:
            return None if known is None else known[1]
        old: list[Opening] = []
        with self._guard:
            known = self._opened.get(place)
            if known is None or known[0] != run.stamp:
                old += [] if known is None else [known[1]]
                self._opened[place] = run.stamp, Opening(partial(self._open, run, chosen.span), self._options)
            self._opened.move_to_end(place)
            while len(self._opened) > self._most:
                old.append(self._opened.popitem(last=False)[1][1])
            found = self._opened[place][1]
        for one in old:
            one.close()
        return found

    def known(self, chosen: Chosen) -> Opening | None:
        """The input that an address names, if it is open or being opened."""
        with self._guard:
            known = self._opened.get((chosen.key, chosen.span))
        return None if known is None else known[1]

    def error(self, key: str) -> str:
        """Why a run can't be opened, if that was tried; else nothing."""
        with self._guard:
            errors = [one.error for (of, _), (_, one) in self._opened.items() if of == key]
        return next((error.message for error in errors if error is not None), "")

    def close(self) -> None:
        """Close all of them."""
        with self._guard:
            opened, self._opened = list(self._opened.values()), OrderedDict()
        for _, one in opened:
            one.close()

    def _open(self, run: Run, span: int | None, report: Callable[[str, int, int], None]) -> Trace:
        from stepscope.ingest import Options, open_trace

        return open_trace(run.paths, Options(store=self._store, report=report, span=span, locked=True))


def default_options() -> ReportOptions:
    """As `stepscope.toml` says, in the folder where the program was started or above it."""
    from stepscope.reports.selection import ReportOptions
    from stepscope.rules import settings

    return ReportOptions(rules=settings.load(Path.cwd()))
