"""Steps whose parts are annotated, not they themselves: `forward`, `backward`, `optimizer`, and again `forward`."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.steps.evidence import counts_between, given_work, outermost, within_one_call
from stepscope.ingest.derive.steps.step import Step
from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

#: As many rounds make a loop; two do where their parts are those of a training step.
_FEWEST: Final = 3
_TRAINING: Final = (re.compile(r"forward|fwd", re.I), re.compile(r"backward|bwd|optim", re.I))
#: Parts of networks: what goes round may be their layers, unless each round is a call of the network.
_LAYERS: Final = re.compile(
    r"layer|block|att(?:ention|n)|mlp|ffn|norm|embed|soft_?max|mat_?mul|linear|conv|head|expert|router|rope|scores",
    re.I,
)
#: Ranges of libraries, which come with operators and not with steps.
_LIBRARY: Final = re.compile(
    r"^(?:nccl|gloo|c10d|hccl):|^## Call |^Torch-Compiled|^DistributedDataParallel|^autograd::"
)
#: The rounds hold this share of the work at least, and each of them about as much as the others.
_COVER: Final = 0.5
_ALIKE: Final = 2

_SQL: Final = """
SELECT e.ts, e.ts + e.dur AS stop, e.track, n.name FROM raw_events e JOIN names n USING (name_id) JOIN tracks t
USING (track) WHERE e.category = 'annotation' AND t.kind = 'host' AND e.dur > 0 ORDER BY e.track, e.ts, e.dur DESC
"""


def round_steps(staging: Staging) -> list[Step]:
    """From the first part of a round to the first part of the next; the last one ends with the work. Empty if unclear.

    A round is a sequence of at least two annotations, one after the other on one thread, that comes again and again.
    """
    rows = staging.connection.execute(_SQL).fetchnumpy()
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
            return [Step(f"round {i}", None, start, dur) for i, (start, dur) in enumerate(times)]
    return []


def _rounds(staging: Staging, rows: dict[str, NDArray[Any]]) -> Times | None:
    """Where the rounds of one thread begin; None if its annotations do not go round."""
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
