"""Steps from any annotations of their parts that recur in sequence, such as `forward`, `backward`, `optimizer`."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.steps.evidence import (
    annotation_ranges,
    counts_between,
    given_work,
    outermost,
    within_one_call,
)
from stepscope.ingest.derive.steps.step import HostStep
from stepscope.language import said
from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

#: What is said of such steps, and what it means.
ROUNDS: Final = (
    said("steps are the rounds in which annotations come again, since none are marked"),
    said("what is done between two rounds belongs to the first"),
)
#: Least number of rounds; two are enough if their parts are named as those of a training step.
_FEWEST: Final = 3
_TRAINING: Final = (re.compile(r"forward|fwd", re.I), re.compile(r"backward|bwd|optim", re.I))
#: Names of parts of networks: recurring ones may be layers, unless each round is a call of the network.
_LAYERS: Final = re.compile(
    r"layer|block|att(?:ention|n)|mlp|ffn|norm|embed|soft_?max|mat_?mul|linear|conv|head|expert|router|rope|scores",
    re.I,
)
#: Ranges of libraries around operators, not steps.
_LIBRARY: Final = re.compile(
    r"^(?:nccl|gloo|c10d|hccl):|^## Call |^Torch-Compiled|^DistributedDataParallel|^autograd::"
)
#: Least share of the work inside rounds, and least share of the others' work in each round.
_COVER: Final = 0.5
_ALIKE: Final = 2


def round_steps(staging: Staging) -> list[HostStep]:
    """Steps from the first part of one round to that of the next; the last ends with the work. Empty if unclear.

    A round is a sequence of at least two annotations on one thread that recurs.
    """
    rows = annotation_ranges(staging)
    edges = np.flatnonzero(np.diff(rows["track"])) + 1
    work, done = given_work(staging)
    if not work.size:
        return []
    for group in np.split(np.arange(rows["ts"].size), edges):
        starts = _rounds(staging, {name: values[group] for name, values in rows.items()})
        if starts is None:
            continue
        limits = np.append(starts, max(int(done.max()), int(starts[-1]) + 1))
        given = counts_between(work, limits)
        alike = given.min() > 0 and given.max() <= _ALIKE * given.min()
        if alike and given.sum() >= _COVER * work.size:
            times = zip(starts.tolist(), np.diff(limits).tolist(), strict=True)
            return [HostStep(f"round {i}", None, start, dur) for i, (start, dur) in enumerate(times)]
    return []


def _rounds(staging: Staging, rows: dict[str, NDArray[Any]]) -> Times | None:
    """Start of each round of one thread in ns; None if its annotations do not recur in sequence."""
    kept = np.array([_LIBRARY.search(str(name)) is None for name in rows["name"]], np.bool_)
    ts, stop, names = rows["ts"][kept], rows["stop"][kept], rows["name"][kept].astype(object)
    outer = outermost(ts, stop)
    ts, names = ts[outer], names[outer]
    if names.size < 2 * 2:
        return None
    at = np.flatnonzero(names == names[0])
    lengths = np.diff(np.append(at, names.size))
    training = all(any(word.search(str(name)) for name in set(names)) for word in _TRAINING)
    if at.size < (2 if training else _FEWEST) or lengths.min() != lengths.max() or lengths[0] < 2:
        return None
    parts = names.reshape(at.size, -1)
    if (parts != parts[0]).any() or len(set(parts[0])) != parts[0].size:
        return None
    layers = all(_LAYERS.search(str(name)) for name in parts[0])
    if layers and not staging.one("SELECT count(*) FROM raw_events WHERE category = 'module'")[0]:
        return None
    return None if within_one_call(staging, ts[at]) else ts[at]
