"""A thread that looks for models to hook as long as no step is found, and gives up waiting in the end."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stepscope.record.job.recorder import Recorder

#: Seconds until the first look; every next one comes after twice as long, since steps are rarely found later.
_FIRST_LOOK_S: Final = 0.5
#: Looks at models that lie in no other before those within them are looked at, too.
_LOOKS_AT_ROOTS: Final = 3


def start(recorder: Recorder) -> None:
    """Start the thread; it ends once steps are found by updates or batches, or something was recorded."""
    threading.Thread(target=_watch, args=(recorder,), name="stepscope-record", daemon=True).start()


def _watch(recorder: Recorder) -> None:
    since = time.monotonic()
    pause, looks = _FIRST_LOOK_S, 0
    while True:
        left = recorder.settings.patience_s - (time.monotonic() - since)
        time.sleep(max(0.0, min(pause, left)))
        if recorder.needs_no_watch():
            return
        if left <= pause:
            if recorder.finder.source:
                return
            recorder.record_stretch()
            return
        if not recorder.finder.source and not recorder.finder.expects_updates:
            recorder.models.look(max(0, looks - _LOOKS_AT_ROOTS))
        looks += 1
        pause *= 2
