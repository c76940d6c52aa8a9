"""The optimizer's step: how many calls and kernels it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.changes import launched_within
from stepscope.model.errors import MissingInputError
from stepscope.signals.job import recorded_steps
from stepscope.signals.signal import Signals, signal

#: Operators that optimizers update one tensor with, without underscore at their end.
_UPDATES: Final = frozenset(
    f"aten::{name}"
    for name in ("add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp", "sqrt", "rsqrt", "pow", "neg", "sign",
                 "maximum", "square", "reciprocal")
)  # fmt: skip
#: Wrappers that PyTorch puts around the step, and Python functions of its optimizers.
_RANGES_SQL: Final = """
SELECT s.id, s.track, s.ts, s.ts + s.dur AS stop, contains(lower(n.name), 'fused') AS fused
FROM spans s JOIN names n USING (name_id)
WHERE s.dur > 0 AND s.step IS NOT NULL AND (
    s.category IN ('op', 'annotation') AND starts_with(n.name, 'Optimizer.step')
    OR s.category = 'python' AND regexp_matches(n.name, 'torch/optim/[a-z]+\\.py\\(\\d+\\): step$'))
ORDER BY s.ts, s.ts + s.dur DESC
"""
_CALLS_SQL: Final = """
WITH ranges AS (SELECT unnest($tracks) AS track, unnest($starts) AS ts, unnest($ends) AS stop)
SELECT s.id, s.ts, n.name FROM (
    SELECT o.id, o.track, o.ts, o.name_id FROM spans o LEFT JOIN spans p ON p.id = o.parent
    WHERE o.category = 'op' AND o.track IN (SELECT unnest($tracks)) AND (p.category IS NULL OR p.category <> 'op')
        OR p.name_id IN (SELECT name_id FROM names WHERE starts_with(name, 'Optimizer.step')) AND o.category = 'op'
) s ASOF JOIN ranges r ON s.track = r.track AND s.ts >= r.ts JOIN names n USING (name_id)
WHERE s.ts < r.stop ORDER BY s.ts
"""
_HANDED_SQL: Final = """
WITH ranges AS (SELECT unnest($tracks) AS track, unnest($starts) AS ts, unnest($ends) AS stop)
SELECT f.target FROM (
    SELECT f.target, g.track, g.ts FROM flows f JOIN spans g ON g.id = f.source
    WHERE f.kind = 'queue' AND f.target IS NOT NULL
) f ASOF JOIN ranges r ON f.track = r.track AND f.ts >= r.ts WHERE f.ts < r.stop ORDER BY f.target
"""
_KERNELS_SQL: Final = """
SELECT event, dur FROM kernels WHERE kind = 'compute' AND event IN (SELECT unnest($events)) ORDER BY event
"""


@dataclass(frozen=True, slots=True)
class Updates:
    """The optimizer's steps, without those that lie in another one.

    Attributes:
        events: int64[n], the steps.
        handed: int64[m], pieces of them that another thread does, which takes them from a queue.
        kernels: int64[k], what they launched.
        kernel_ns: int64[k].
        calls: Operators called by them that update one tensor, all together.
        others: Other operators called by them.
        kinds: Distinct operators that update one tensor and are called for a good part of the tensors.
        fused: Whether one of them works on lists of tensors, or does all of the update at once.
    """

    events: NDArray[np.int64]
    handed: NDArray[np.int64]
    kernels: NDArray[np.int64]
    kernel_ns: NDArray[np.int64]
    calls: int
    others: int
    kinds: int
    fused: bool


@signal()
def updates(s: Signals) -> Updates:
    """The optimizer's steps, the operators that they call and what these launch."""
    ranges = s.trace.columns(_RANGES_SQL)
    if not ranges["id"].size:
        raise MissingInputError(
            "the recording shows no step of an optimizer", hint="use an optimizer of torch.optim, which marks its steps"
        )
    reach = np.maximum.accumulate(ranges["stop"])
    outer = ranges["ts"] >= np.append(np.iinfo(np.int64).min, reach[:-1])
    where = {
        name: ranges[column][outer].tolist()
        for name, column in (("tracks", "track"), ("starts", "ts"), ("ends", "stop"))
    }
    called = s.trace.columns(_CALLS_SQL, where)["name"]
    kernels = s.trace.columns(_KERNELS_SQL, {"events": launched_within(s.trace, ranges["id"][outer]).tolist()})
    names, count = np.unique(called.astype(str), return_counts=True)
    update = np.array([name.rstrip("_") in _UPDATES for name in names.tolist()], np.bool_)
    counted = count[update]
    return Updates(
        ranges["id"][outer],
        s.trace.columns(_HANDED_SQL, where)["target"],
        kernels["event"],
        kernels["dur"],
        int(counted.sum()),
        int(count[~update].sum()),
        int(np.count_nonzero(2 * counted >= counted.max(initial=0))) if counted.size else 0,
        bool(ranges["fused"].any()) or any("_foreach_" in n or "fused" in n.lower() for n in names.tolist()),
    )


@signal("per step")
def tensor_updates(s: Signals) -> float:
    """Operators per step by which the optimizer updates one tensor each; 0 if it works on lists of them."""
    found = s(updates)
    # Where launches of the step are recorded, calls without any do nothing to a tensor of the device.
    number = min(found.calls, found.kernels.size) if found.kernels.size else found.calls
    return 0.0 if found.fused or found.calls < found.others else number / s(recorded_steps)
