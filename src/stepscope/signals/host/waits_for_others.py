"""Whether Python waits for another thread or process, or for something outside the program, in given stretches."""

from __future__ import annotations

import re
from typing import Final, Literal

import numpy as np

from stepscope.model.events.columns import Spans, named
from stepscope.model.intervals import Intervals
from stepscope.signals.host.own_work import Doing
from stepscope.signals.signal import Signals

#: What is waited for: what another thread or process hands over, or a connection, a file or a moment in time.
Awaited = Literal["", "another", "outside"]

#: Python's functions that wait for what another thread or process hands over.
_FUNCTIONS: Final = re.compile(
    r"(^|/)(queue\.py\(\d+\): (get|put|join)|"
    r"multiprocessing/(queues|connection|pool)\.py\(\d+\): (get|next|poll|wait|_?recv\w*)|"
    r"concurrent/futures/\w+\.py\(\d+\): (result\w*|wait|as_completed|_result_or_cancel)|"
    r"subprocess\.py\(\d+\): (_?wait|_?communicate)|"
    r"threading\.py\(\d+\): (join|wait|acquire))$"
)
#: The same of the functions that wait for connections, and the built-in ones, which are named with their objects.
_EVENTS: Final = re.compile(r"(^|/)(selectors\.py\(\d+\): select|socket\.py\(\d+\): (accept|readinto))$")
_HANDED: Final = re.compile(r"^<built-in method (acquire|wait|__enter__) of _(thread|multiprocessing)\.")
_OUTSIDE: Final = re.compile(
    r"^<built-in method (_?accept|connect|recv\w*|send\w*|read\w*|do_handshake|poll|control)"
    r" of (_?socket|_ssl|select)\b|^<built-in function (select|input)>$"
)
#: It is said of stretches of which this share is such a wait.
_MOST: Final = 0.5


def awaited(s: Signals, doing: Doing, main: int) -> Awaited:
    """What these stretches of the main thread wait for; empty where they don't, or it is not recorded."""
    if _FUNCTIONS.search(doing.name):
        return "another"
    if _EVENTS.search(doing.name) or _share(s, doing.found, main, _OUTSIDE) >= _MOST:
        return "outside"
    return "another" if _share(s, doing.found, main, _HANDED) >= _MOST else ""


def _share(s: Signals, found: Intervals, main: int, pattern: re.Pattern[str]) -> float:
    """The part of the stretches that functions with such names take on the main thread."""
    spans = Spans(s.trace)
    at = np.flatnonzero(spans.of("python") & (spans.track == main) & named(s.trace, pattern.search))
    inside = found & Intervals.union_of(spans.ts[at], spans.ts[at] + np.maximum(spans.dur[at], 0))
    return inside.total / max(found.total, 1)
