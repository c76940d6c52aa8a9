"""Compilation and code loading while the job runs, and variety of shapes between steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.recorded_events import names_of
from stepscope.model.categories import CATEGORIES
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, on_host
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Times
from stepscope.signals.shared.job import recorded_steps, step_ns, stepless
from stepscope.signals.shared.ranges import apart
from stepscope.signals.signal import Signals, signal

#: What PyTorch's compiler, Triton and the runtimes of CUDA and HIP call it.
_COMPILING: Final = re.compile(
    r"\(dynamo_timed\)$|^(nvrtc|hiprtc)CompileProgram|^(cu|hip)(ModuleLoad|LibraryLoad)Data|^(cu|hip)ModuleLoad(Ex)?$"
    r"|^cuLink(Complete|AddData)|^(Lazy Function Loading|Runtime Triggered Module Loading)$"
    r"|torch/_(dynamo|inductor)/.*: (_?compile|_compile_inner|compile_fx|codegen|transform)$"
    r"|triton/(compiler|runtime)/.*: (compile|_?bench|benchmark)$"
)
#: What the runtimes do once for each kernel or module, when it is used for the first time.
_FIRST_USE: Final = re.compile(r"^(Lazy Function|Runtime Triggered Module) Loading$|^(cu|hip)(Module|Library)Load")
_ON_DEVICE: Final = ("kernel", "collective", "copy", "set")
_SHAPES_SQL: Final = """
WITH shapes AS (
    SELECT DISTINCT s.step, hash(s.name_id, i.shapes) AS shape FROM op_inputs i JOIN spans s ON s.id = i.event
    WHERE i.shapes IS NOT NULL AND s.step IN (SELECT step FROM steps WHERE typical)
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
    """Events in steps that compile or load code.

    Where no steps are known, first use can't be distinguished from the loop: loading is left out, and compilation
    counts once half of the time in use is over.
    """
    categories = [category for category in CATEGORIES if category not in _ON_DEVICE]
    names = {one: name for one, name in names_of(s.trace, categories) if _COMPILING.search(name)}
    start = 0
    if s(stepless):
        names = {one: name for one, name in names.items() if not _FIRST_USE.search(name)}
        found = Steps.of(s.trace)
        start = int((found.start[0] + found.end[0]) // 2)
    spans = Spans(s.trace)
    at = np.flatnonzero(np.isin(spans.name, list(names)) & (spans.dur > 0) & (spans.step >= 0) & (spans.ts >= start))
    at = at[on_host(s.trace, spans.track[at])]
    at = at[np.lexsort((-spans.dur[at], spans.ts[at]))]
    at = at[apart(spans.ts[at], spans.ts[at] + spans.dur[at])]
    dur = spans.dur[at]
    ids, index = np.unique(spans.name[at], return_inverse=True)
    total = np.bincount(index, dur, ids.size) if ids.size else np.zeros(0)
    longest = tuple(names[one] for one in ids[np.argsort(-total, kind="stable")][:2].tolist())
    return Compilations(spans.id[at].astype(np.int64), spans.ts[at], dur, np.unique(spans.step[at]).size, longest)


@signal("share")
def compiling_share(s: Signals) -> float:
    """Time of compilation and code loading as a share of the mean step."""
    return int(s(compilations).dur.sum()) / s(recorded_steps) / s(step_ns)


@signal("ratio")
def shape_variety(s: Signals) -> float:
    """Distinct operator shapes in all complete steps over those in one step; 1 if every step has the same."""
    row = s.trace.rows(_SHAPES_SQL)[0]
    if (row["steps"] or 0) < 2:
        raise MissingInputError(
            "the shapes of operators are not recorded over two steps", hint="record two steps with record_shapes=True"
        )
    return float(row["all_steps"] / row["one_step"])
