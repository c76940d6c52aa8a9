"""Steps from ranges around their parts, named forward, backward and optimizer.

A step extends from one forward pass to the next, or, with gradient accumulation, over the passes before each update of
the weights. The whole name must be that of a pass, which excludes ranges of layers.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.steps.evidence import annotation_ranges, given_work, outermost
from stepscope.ingest.derive.steps.step import HostStep
from stepscope.model.intervals import Intervals
from stepscope.store.staging import Staging

#: What may stand before and behind the word, such as `train_forward`, `Forward Pass (12)` or `forward_only`.
_BEFORE: Final = r"^[\W_]*(?:(?:model|train(?:ing)?|eval|full|benchmark|measured?|timed|warm[-_ ]?up)[\W_]*)?"
_BEHIND: Final = r"(?:[\W_]*(?:pass|only|prop(?:agation)?|step|warm[-_ ]?up|\d+))*[\W_]*$"
#: The words in the order of a step.
_PARTS: Final = tuple(
    re.compile(f"{_BEFORE}(?:{word}){_BEHIND}", re.IGNORECASE)
    for word in ("forward|fwd", r"(?:loss[._ ]?)?(?:backward|bwd)", r"optimi[sz]er|optim|opt|adamw?|sgd")
)
#: Ranges in which the next batch is fetched.
_FETCHING: Final = re.compile(
    r"^[\W_]*(?:(?:get|load|next|fetch|read|data|batch)[\W_]*)?(?:data|batch(?:es)?|load(?:er|ing)?|fetch|next|input)[\W_\d]*$",
    re.IGNORECASE,
)
_UPDATE: Final = len(_PARTS) - 1
#: Least number of steps, and least share of launches inside them.
_FEWEST: Final = 3
_COVER: Final = 0.8


def steps_of_parts(staging: Staging) -> list[HostStep]:
    """Steps from one forward pass to the next, else from one backward or optimizer range; empty if unclear."""
    rows = annotation_ranges(staging)
    order = np.lexsort((rows["ts"] - rows["stop"], rows["ts"]))
    rows = {name: values[order] for name, values in rows.items()}
    names = rows["name"].astype(str)
    part = np.full(names.size, -1)
    for name in np.unique(names).tolist():
        part[names == name] = next((at for at, word in enumerate(_PARTS) if word.search(name)), -1)
    if not (part >= 0).any():
        return []
    first = int(part[part >= 0].min())
    track = rows["track"][part == first][0]
    mine = (part >= 0) & (rows["track"] == track)
    kept = {name: values[mine] for name, values in rows.items()}
    outer = outermost(kept["ts"], kept["stop"])
    starts, updates = (np.flatnonzero(outer & (part[mine] == one)) for one in (first, _UPDATE))
    fetched = np.array([_FETCHING.search(name) is not None for name in names], np.bool_) & (rows["track"] == track)
    fetching = Intervals.union_of(rows["ts"][fetched], rows["stop"][fetched])
    steps = _rounds(kept, starts[:: _micro_batches(starts, updates)], fetching)
    given, _ = given_work(staging, ("launch",))
    inside = sum(int(np.diff(np.searchsorted(given, (step.ts, step.ts + step.dur)))[0]) for step in steps)
    enough = inside >= _COVER * given.size if given.size else True
    return steps if len(steps) >= _FEWEST and enough else []


def _micro_batches(starts: NDArray[np.int64], updates: NDArray[np.int64]) -> int:
    """Number of passes per update of the weights, if it is constant; else 1."""
    passes = np.diff(np.searchsorted(starts, np.append(-1, updates)))
    same = passes.size > 1 and (passes == passes[0]).all() and passes.sum() == starts.size
    return max(int(passes[0]), 1) if same else 1


def _rounds(rows: dict[str, NDArray[Any]], first: NDArray[np.int64], fetching: Intervals) -> list[HostStep]:
    """A step per round; it ends where the next starts, or at a pause longer than all its parts.

    What mostly fetches the next batch is no pause, however long.
    """
    steps = []
    edges = np.append(first, rows["ts"].size)
    for number, (low, high) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        start, stop = int(rows["ts"][low]), int(rows["stop"][low:high].max())
        following = int(rows["ts"][high]) if high < rows["ts"].size else stop
        fetched = fetching.clip(stop, following).total
        if following - stop <= stop - start or 2 * fetched > following - stop:
            stop = max(stop, following)
        steps.append(HostStep(f"{rows['name'][low]} {number}", None, start, stop - start))
    return steps
