"""How to open an input."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: Called with (what is being done, bytes done, bytes in all).
Report = Callable[[str, int, int], None]


def _log(sentence: str) -> None:
    logging.getLogger("stepscope").warning("%s", sentence)


@dataclass(frozen=True, slots=True)
class Options:
    """How to open an input.

    Attributes:
        cache: Keep what was read for the next time, and use what was kept.
        store: Folder to keep it in; None for the user's cache folder.
        report: Told of the progress.
        say: Told in a sentence what does not concern the recording: that nothing can be kept, and why.
        locked: Let queries reach no file but the store's, no network and no setting: for the SQL of strangers.
    """

    cache: bool = True
    store: Path | None = None
    report: Report = lambda *_: None
    say: Callable[[str], None] = _log
    locked: bool = False
