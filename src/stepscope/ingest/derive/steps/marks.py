"""Steps from PyTorch's own ranges around loader and optimizer, which occur once per iteration."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.ingest.derive.steps.evidence import counts_between, given_work
from stepscope.ingest.derive.steps.step import HostStep
from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

#: Least number of iterations, and least share of them that launch device work (without a device: run operators).
_FEWEST: Final = 3
_WORKING: Final = 0.8
#: Least number of updates of an optimizer that tell steps, and most batches without one as a share of all.
_UPDATES: Final = 2
_SKIPPED: Final = 0.1

_LOADED_SQL: Final = """
SELECT e.ts, e.track FROM raw_events e JOIN names n USING (name_id) JOIN tracks t USING (track)
WHERE e.category = 'dataloader' AND t.kind = 'host' AND n.name LIKE 'enumerate(DataLoader)#%__next__' ORDER BY e.ts
"""
_OPTIMIZED_SQL: Final = """
SELECT e.ts, e.ts + e.dur AS stop, e.track, n.name FROM raw_events e JOIN names n USING (name_id) JOIN tracks t
USING (track) WHERE t.kind = 'host' AND e.category IN ('annotation', 'op') AND e.dur > 0
AND starts_with(n.name, 'Optimizer.step#') ORDER BY e.ts
"""
#: Most models that take turns, each with an optimizer of its own (of a GAN: two), and least rounds of them.
_MOST_TURNS: Final = 4
_LEAST_ROUNDS: Final = 3
_BACKWARD_SQL: Final = """
SELECT e.ts FROM raw_events e JOIN names n USING (name_id)
WHERE e.category = 'op' AND starts_with(n.name, 'autograd::engine::evaluate_function') ORDER BY e.ts
"""
#: A first step with less than this share of the others' work started before the recording; less work than this after
#: the last mark belongs to the last step.
_WHOLE: Final = 0.8
_REST: Final = 0.05


def loaded_steps(staging: Staging) -> list[HostStep]:
    """Steps from one batch to the next; the last one ends with the last launch. Empty if unclear."""
    marks = staging.connection.execute(_LOADED_SQL).fetchnumpy()
    if marks["ts"].size < _FEWEST or np.unique(marks["track"]).size > 1:
        return []
    work, done = given_work(staging)
    if not work.size:
        return []
    starts = marks["ts"]
    stops = np.append(starts[1:], max(int(done.max()), int(starts[-1]) + 1))
    given = np.searchsorted(work, stops) - np.searchsorted(work, starts)
    if np.count_nonzero(given) < _WORKING * starts.size or _updates_are_rarer(staging, starts, stops):
        return []
    times = zip(starts.tolist(), (stops - starts).tolist(), (given == 0).tolist(), strict=True)
    return [HostStep(f"iteration {i}", None, start, dur, cut) for i, (start, dur, cut) in enumerate(times) if dur > 0]


def _updates_are_rarer(staging: Staging, starts: Times, stops: Times) -> bool:
    """Whether a batch is not a step: gradients of several are accumulated, or some are for evaluation.

    Batches of both kinds differ in length, so that a mean over them says nothing. An update that a gradient scaler
    skips is no such batch.
    """
    ends = staging.connection.execute(_OPTIMIZED_SQL).fetchnumpy()["stop"]
    if ends.size < _UPDATES:
        return False
    # The last batch ends with its last launch, which may lie before its update.
    without = np.count_nonzero(np.searchsorted(ends, stops[:-1]) == np.searchsorted(ends, starts[:-1]))
    return bool(without > max(1, _SKIPPED * starts.size)) and bool(optimized_steps(staging))


def optimized_steps(staging: Staging) -> list[HostStep]:
    """Steps from the end of one optimizer step to that of the next, at least two. Empty if unclear.

    Of several optimizers the one that steps least often ends a step; of models that take turns, the last.
    """
    marks = staging.connection.execute(_OPTIMIZED_SQL).fetchnumpy()
    work, done = given_work(staging)
    if not marks["ts"].size or not work.size or np.unique(marks["track"]).size > 1:
        return []
    names, number = np.unique(marks["name"].astype(str), return_counts=True)
    rarest = set(names[number == number.min()].tolist())
    ender = next(name for name in reversed(marks["name"].astype(str).tolist()) if name in rarest)
    ends = _of_iterations(staging, marks["stop"][marks["name"].astype(str) == ender])
    earliest = min(int(work[0]), int(marks["ts"][0]))
    edges = np.concatenate(([earliest], ends, [max(int(done.max()), int(ends[-1]))]))
    given = counts_between(work, edges)
    inner = given[1:-1] if ends.size > 1 else given[:1]
    if ends.size < 2 or (given[:-1] == 0).any():
        return []
    cut = np.zeros(given.size, np.bool_)
    cut[0] = given[0] < _WHOLE * float(np.median(inner))
    cut[-1] = True
    if given[-1] < _REST * float(np.median(inner)):
        edges = np.append(edges[:-2], edges[-1])
        cut = cut[:-1]
    times = zip(edges[:-1].tolist(), np.diff(edges).tolist(), cut.tolist(), strict=True)
    return [HostStep(f"iteration {i}", None, start, dur, off) for i, (start, dur, off) in enumerate(times)]


def _of_iterations(staging: Staging, ends: Times) -> Times:
    """The ends of optimizer steps that end an iteration: the last of each round if models take turns.

    They do if the backward passes between one end and the next come again in every round with as many functions, and
    not all have the same number.
    """
    functions = staging.connection.execute(_BACKWARD_SQL).fetchnumpy()["ts"]
    # What the first step did before the recording is not known.
    passes = counts_between(functions, ends) if ends.size > 1 else ends[:0]
    for turns in range(2, _MOST_TURNS + 1):
        if ends.size < turns * _LEAST_ROUNDS or np.unique(passes).size == 1:
            break
        if (passes[turns:] == passes[:-turns]).all():
            # Recordings begin with an iteration more often than within one.
            return ends[turns - 1 :: turns]
    return ends
