"""The runs below a folder as they are now: searched for in the background, so that nobody waits for long."""

from __future__ import annotations

import logging
import threading
from time import monotonic
from typing import Final

from stepscope.web.runs.finding import Finder, FoundRuns, Run

#: How long what was found is taken for what is there, s.
_FRESH_SECONDS: Final = 5.0


class Watching:
    """Knows the runs that its finder last found, and has it search again when that is some seconds ago.

    Args:
        finder: Searches a folder.
        fresh: Seconds for which nothing is searched again.
    """

    def __init__(self, finder: Finder, fresh: float = _FRESH_SECONDS) -> None:
        self._finder = finder
        self._fresh = fresh
        self._guard = threading.Lock()
        self._found = FoundRuns()
        self._since: float | None = None
        self._searched = threading.Event()
        self._searched.set()

    @property
    def root(self) -> str:
        """The folder, as it was given; empty for none."""
        return "" if self._finder.root is None else str(self._finder.root)

    def found(self, patience: float = 1.0) -> FoundRuns:
        """The runs that are there, or were some seconds ago where the search takes longer than `patience` seconds."""
        with self._guard:
            if self._searched.is_set() and (self._since is None or monotonic() - self._since > self._fresh):
                self._searched.clear()
                threading.Thread(target=self._search, name="stepscope-runs", daemon=True).start()
        self._searched.wait(patience)
        return self._found

    def run(self, key: str, patience: float = 30.0) -> Run | None:
        """The run of a key; None if there is none. One that is not known is searched for."""
        for wait in (1.0, patience):
            for run in self.found(wait).runs:
                if run.key == key:
                    return run
        return None

    def _search(self) -> None:
        try:
            self._found = self._finder.find()
        except Exception:  # what was found before stays, and the next question searches again
            logging.getLogger("stepscope").exception("the recordings below %s can't be listed", self.root)
        finally:
            self._since = monotonic()
            self._searched.set()
