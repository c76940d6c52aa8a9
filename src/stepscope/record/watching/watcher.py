"""The thread of the launcher that watches the ranks together; the job goes on as it was where it is gone."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stepscope.record.machine.excerpt import excerpt
from stepscope.record.ring.reader import rings_in
from stepscope.record.signals import start_deaf
from stepscope.record.triggers.keeping import recordings_in
from stepscope.record.triggers.request import REASON, WATCHED, claim
from stepscope.record.watching.apart import LOOKED_AT, ranks_apart
from stepscope.record.watching.ended import remove_ended, remove_samples
from stepscope.record.watching.jobs import runs

#: Seconds between two looks, and before the first one.
_BETWEEN_S: Final = 1.0
#: Samples of the machine from so long before the reason on lie beside a recording.
_BEFORE_NS: Final = 60_000_000_000


class JobWatcher:
    """Watches the processes of a job that keep rings.

    Args:
        output: The folder of its recordings.
        samples: The file of samples of the machine, of which a part is put beside each recording; None for none.
        cooldown_s: Seconds after a recording in which ranks that drift apart ask for none.
        busy: Whether a rank is being recorded, which goes on to be sampled.
    """

    def __init__(self, output: Path, samples: Path | None, cooldown_s: float, busy: Callable[[], bool]) -> None:
        self._output = output
        self._samples = samples
        self._cooldown_s = cooldown_s
        self._busy = busy
        self._over = threading.Event()
        self._last = ""
        self._started_ns = time.time_ns()
        self._thread = threading.Thread(target=self._run, name="stepscope-watch", daemon=True)

    def start(self) -> None:
        """Start to."""
        remove_samples(self._output / WATCHED)
        start_deaf(self._thread)

    def stop(self) -> None:
        """End, and put samples beside the last recordings."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(5.0)
        self._add_samples()

    def _run(self) -> None:
        while not self._over.wait(_BETWEEN_S):
            # What can't be read or written now may be later, and is never the job's concern.
            with contextlib.suppress(OSError, ValueError):
                self.look()

    def look(self) -> None:
        """Look once."""
        rings = rings_in(self._output / WATCHED, LOOKED_AT)
        remove_ended(rings)
        trigger = ranks_apart([ring for ring in rings if runs(ring)])
        if trigger is not None:
            request = claim(self._output, trigger, self._cooldown_s, self._last)
            self._last = request.folder if request is not None else self._last
        self._add_samples()

    def _add_samples(self) -> None:
        if self._samples is None or self._busy():
            return
        for folder in recordings_in(self._output):
            into = folder / self._samples.name
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                if not into.exists() and _is_whole(folder):
                    since = int(json.loads((folder / REASON).read_text(encoding="utf-8"))["unix_ns"])
                    # The same job may have recorded here before it was started again.
                    if since >= self._started_ns:
                        excerpt(self._samples, since - _BEFORE_NS, into)


def _is_whole(folder: Path) -> bool:
    """Whether it holds recordings, and none that is being written."""
    names = [one.name for one in folder.iterdir() if one.name != REASON]
    return bool(names) and not any(name.startswith(".") for name in names)
