"""Compilation and loading of code while the job runs, and whether shapes change from step to step."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.signals.job import recorded_steps, step_ns
from stepscope.signals.signal import Signals, signal

#: What PyTorch's compiler, Triton and the runtimes of CUDA and HIP call it.
_COMPILING: Final = re.compile(
    r"\(dynamo_timed\)$|^(nvrtc|hiprtc)CompileProgram|^(cu|hip)(ModuleLoad|LibraryLoad)Data|^(cu|hip)ModuleLoad(Ex)?$"
    r"|^cuLink(Complete|AddData)|^(Lazy Function Loading|Runtime Triggered Module Loading)$"
    r"|torch/_(dynamo|inductor)/.*: (_?compile|_compile_inner|compile_fx|codegen|transform)$"
    r"|triton/(compiler|runtime)/.*: (compile|_?bench|benchmark)$"
)
_NAMES_SQL: Final = """
SELECT name_id, name FROM names WHERE name_id IN (SELECT DISTINCT name_id FROM spans WHERE category NOT IN
    ('kernel', 'collective', 'copy', 'set'))
"""
_EVENTS_SQL: Final = """
SELECT s.id, s.track, s.ts, s.ts + s.dur AS stop, s.name_id, s.step FROM spans s JOIN tracks t USING (track)
WHERE t.kind = 'host' AND s.name_id IN (SELECT unnest($names)) AND s.dur > 0 AND s.step IS NOT NULL
ORDER BY s.ts, s.ts + s.dur DESC
"""
_SHAPES_SQL: Final = """
WITH shapes AS (
    SELECT DISTINCT s.step, hash(s.name_id, i.shapes) AS shape FROM op_inputs i JOIN spans s ON s.id = i.event
    WHERE i.shapes IS NOT NULL AND s.step IN (SELECT step FROM steps WHERE NOT partial)
)
SELECT count(DISTINCT shape) AS all_steps, count(*) / nullif(count(DISTINCT step), 0) AS one_step,
    count(DISTINCT step) AS steps FROM shapes
"""


@dataclass(frozen=True, slots=True)
class Compilations:
    """Outermost events in steps that compile or load code, in time order.

    Attributes:
        events: int64[n].
        ts: int64[n].
        dur: int64[n].
        steps: How many steps have one.
        names: Those with most time.
    """

    events: NDArray[np.int64]
    ts: Times
    dur: Times
    steps: int
    names: tuple[str, ...]


@signal()
def compilations(s: Signals) -> Compilations:
    """Compilation and loading of code in the steps."""
    rows = s.trace.columns(_NAMES_SQL)
    names = {
        name_id: name
        for name_id, name in zip(rows["name_id"].tolist(), rows["name"].tolist(), strict=True)
        if _COMPILING.search(name)
    }
    rows = s.trace.columns(_EVENTS_SQL, {"names": list(names)})
    reach = np.maximum.accumulate(rows["stop"]) if rows["stop"].size else rows["stop"]
    outer = rows["ts"] >= np.append(np.iinfo(np.int64).min, reach[:-1])[: reach.size]
    dur = (rows["stop"] - rows["ts"])[outer]
    ids, index = np.unique(rows["name_id"][outer], return_inverse=True)
    total = np.bincount(index, dur, ids.size) if ids.size else np.zeros(0)
    longest = tuple(names[one] for one in ids[np.argsort(-total, kind="stable")][:2].tolist())
    return Compilations(rows["id"][outer], rows["ts"][outer], dur, np.unique(rows["step"][outer]).size, longest)


@signal("share")
def compiling_share(s: Signals) -> float:
    """Time of compilation and loading of code as a share of the mean step."""
    return int(s(compilations).dur.sum()) / s(recorded_steps) / s(step_ns)


@signal("ratio")
def shape_variety(s: Signals) -> float:
    """Shapes of operators in all complete steps over those in one step; 1 if every step has the same ones."""
    row = s.trace.rows(_SHAPES_SQL)[0]
    if (row["steps"] or 0) < 2:
        raise MissingInputError(
            "the shapes of operators are not recorded over two steps", hint="record two steps with record_shapes=True"
        )
    return float(row["all_steps"] / row["one_step"])
