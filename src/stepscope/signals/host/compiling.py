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
from stepscope.model.events.columns import Ids, Spans, on_host
from stepscope.model.intervals import Times
from stepscope.signals.shared.job import recorded_steps, span_ns, step_ns, stepless
from stepscope.signals.shared.ranges import apart
from stepscope.signals.signal import Signals, signal

#: What PyTorch's compiler, Triton, the runtimes of CUDA and HIP, JAX with XLA, and TensorFlow call it.
_COMPILING: Final = re.compile(
    r"\(dynamo_timed\)$|^(nvrtc|hiprtc)CompileProgram|^(cu|hip)(ModuleLoad|LibraryLoad)Data|^(cu|hip)ModuleLoad(Ex)?$"
    r"|^cuLink(Complete|AddData)|^(Lazy Function Loading|Runtime Triggered Module Loading)$"
    r"|torch/_(dynamo|inductor)/.*: (_?compile|_compile_inner|compile_fx|codegen|transform)$"
    r"|triton/(compiler|runtime)/.*: (compile|_?bench|benchmark)$"
    r"|^\$(pjit|pxla)\.py:\d+ (_?resolve_and_lower|_pjit_lower|lower_sharding_computation|compile|from_hlo)$"
    r"|^(lower_sharding_computation|backend_compile(_and_load)?|(\w*PjRt|Tfrt)\w*Client::Compile\w*)$"
    r"|^tf\.function-graph_building$"
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
def compiling_events(s: Signals) -> Ids:
    """Positions of the outermost events that compile code, wherever they lie; loading is left out. By start."""
    return _outermost(s, {one: name for one, name in _names(s).items() if not _FIRST_USE.search(name)})


def _names(s: Signals) -> dict[int, str]:
    categories = [category for category in CATEGORIES if category not in _ON_DEVICE]
    return {one: name for one, name in names_of(s.trace, categories) if _COMPILING.search(name)}


def _outermost(s: Signals, names: dict[int, str]) -> Ids:
    spans = Spans(s.trace)
    at = np.flatnonzero(np.isin(spans.name, list(names)) & (spans.dur > 0))
    at = at[on_host(s.trace, spans.track[at])]
    at = at[np.lexsort((-spans.dur[at], spans.ts[at]))]
    found: Ids = at[apart(spans.ts[at], spans.ts[at] + spans.dur[at])]
    return found


@signal()
def compilations(s: Signals) -> Compilations:
    """Events in steps that compile or load code.

    Where no steps are known, first use can't be distinguished from the loop: loading is left out.
    """
    names, spans = _names(s), Spans(s.trace)
    at = s(compiling_events) if s(stepless) else _outermost(s, names)
    at = at[spans.step[at] >= 0]
    dur = spans.dur[at]
    return Compilations(spans.id[at].astype(np.int64), spans.ts[at], dur, np.unique(spans.step[at]).size,
                        _longest(spans.name[at], dur, names))  # fmt: skip


def _longest(name: NDArray[np.int32], dur: Times, names: dict[int, str]) -> tuple[str, ...]:
    ids, index = np.unique(name, return_inverse=True)
    total = np.bincount(index, dur, ids.size) if ids.size else np.zeros(0)
    return tuple(names[one] for one in ids[np.argsort(-total, kind="stable")][:2].tolist())


@dataclass(frozen=True, slots=True)
class CompiledOnce:
    """Compilation in a recording without steps, wherever it lies.

    Attributes:
        total_ns: Its time.
        recorded_ns: From the first event to the end of the last.
        outside_ns: Its part before the first use of the device and after the last.
        names: Those with most time.
        events: int64[n], the longest ones.
    """

    total_ns: int
    recorded_ns: int
    outside_ns: int
    names: tuple[str, ...]
    events: NDArray[np.int64]


@signal()
def compiled_once(s: Signals) -> CompiledOnce:
    """Compilation in the whole of a recording without steps."""
    whole = s.whole
    spans, at = Spans(whole.trace), whole(compiling_events)
    names, dur = _names(whole), spans.dur[at]
    return CompiledOnce(
        int(dur.sum()), whole(span_ns), int(dur[spans.step[at] < 0].sum()), _longest(spans.name[at], dur, names),
        spans.id[at[np.argsort(-dur, kind="stable")[:20]]].astype(np.int64),
    )  # fmt: skip


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
