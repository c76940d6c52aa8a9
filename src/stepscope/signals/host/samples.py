"""Functions that a host thread is in during given stretches, by samples of the processor."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace

_SQL: Final = "SELECT ts, stack FROM samples WHERE track = $track ORDER BY ts"
#: What every program is in, and what only passes calls on.
_PASSING: Final = re.compile(r"^(_*start(_thread)?|__libc_start_\w+|main|clone3?|_?_clone|\w*trampoline\w*)$")
#: What stands for functions without a name, and those of libraries, tell less than the program's own.
_LIBRARY: Final = re.compile(
    r"\.(so|dll|dylib)$|^Python$|^(std|__gnu_cxx|boost|Eigen|thrust)::|^__|^_int_(malloc|free)|"
    r"^(c?free|[cm]alloc|realloc|mem(cpy|set|move)|operator new|operator delete)"
)
#: Fewer samples tell nothing.
_LEAST: Final = 10
#: A function is named if this share of the samples is in it, and an innermost one from the other share on.
_MOST, _PART = 0.5, 0.1


@dataclass(frozen=True, slots=True)
class Sampled:
    """Functions by samples within given stretches.

    Attributes:
        name: The innermost function that half of the samples are in; empty if there is none.
        parts: Innermost functions with their share of the samples, the largest first.
        running: The share of the time in which the thread ran: samples are taken of running threads only.
    """

    name: str = ""
    parts: tuple[tuple[str, float], ...] = ()
    running: float = 0.0


def sampled(trace: Trace, found: Intervals, track: int) -> Sampled:
    """Functions that a thread is in during given stretches; nothing where there are too few samples."""
    rows = trace.columns(_SQL, {"track": track})
    ts = np.asarray(rows["ts"], np.int64)
    at = np.flatnonzero(found.at(ts)) if ts.size else np.zeros(0, np.int64)
    if at.size < _LEAST:
        return Sampled()
    usual = int(np.median(np.diff(ts)))
    stacks = Counter(str(rows["stack"][one]) for one in at.tolist())
    covers, places, inner = Counter[str](), Counter[str](), Counter[str]()
    for stack, number in stacks.items():
        frames = [frame for frame in dict.fromkeys(stack.split(";")) if not _PASSING.match(frame)]
        for place, frame in enumerate(frames):
            covers[frame] += number
            places[frame] += place * number
        inner.update(dict.fromkeys(frames[:1], number))
    most = [frame for frame, number in covers.items() if number >= _MOST * at.size]
    whole = min(most, key=lambda one: (bool(_LIBRARY.search(one)), places[one] / covers[one], one), default="")
    parts = tuple((frame, number / at.size) for frame, number in inner.most_common(3) if number >= _PART * at.size)
    return Sampled(whole, parts, min(at.size * usual / found.total, 1.0))
