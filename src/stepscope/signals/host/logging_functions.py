"""Python functions of a known purpose: logging, metrics, checkpoints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_states import host_states
from stepscope.analyses.shared.recorded_events import names_of
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.intervals import Intervals, Times
from stepscope.signals.shared.job import recorded_steps, step_ns
from stepscope.signals.shared.ranges import apart
from stepscope.signals.signal import Signals, signal

#: Libraries whose files are all about logging, progress bars and metrics.
_LIBRARIES: Final = re.compile(
    r"(^|/)(logging|tqdm|wandb|tensorboard|tensorboardX|mlflow|comet_ml|neptune|clearml|loguru|absl/logging|"
    r"torchmetrics|sklearn/metrics|rich)/|torch/utils/tensorboard/"
)
#: Functions of the program by their names; not `log_softmax`, `log_prob` and the like.
_FUNCTIONS: Final = re.compile(
    r": (_?(write|do|save|print|update|maybe|flush|emit|train|push|send)_)?_?(log(s|ger|ging)?|metrics?|progress|stats|"
    r"statistics|summary|history)(_(metrics?|dict|step|scalars?|stats|loss(es)?|progress|param(eter)?s|grad(ient)?s|"
    r"histograms?|images?|train(ing)?|batch|iter(ation)?|line|message|info|results?|file|json|all|every|and|norms?|"
    r"values?|weights?|epoch|memory|output|write|update|print))*$|: (print(_.*)?|add_(scalars?|histogram|image|text))$"
)
#: Built-in functions that write.
_BUILTINS: Final = re.compile(
    r"<built-in (function (print|fsync|write|fdatasync)|method (write|flush|writelines) of _io\.(?!BytesIO|StringIO))"
    r"|<method '(write|flush)' of '_io\.(?!BytesIO|StringIO)"
)
#: What sends data to other processes writes too: a loader to its workers, a queue to its reader.
_SENDING: Final = re.compile(
    r"(^|/)(multiprocessing/(connection|queues|reduction|synchronize|pool)\.py|torch/utils/data/)"
)
_NOT: Final = re.compile(
    r"(^|/)torch/(profiler|autograd/profiler|_dynamo|_inductor|utils/data)|(^|/)logging/__init__\.py\(\d+\): getLogger$"
)
#: Calls of the operating system that write.
_WRITES: Final = frozenset(
    ("write", "pwrite", "pwrite64", "writev", "fsync", "fdatasync", "fwrite", "fflush", "fputs", "puts")
)
#: A call that writes for longer writes a file, and no line of a log.
_LONGEST_LINE_NS: Final = 5_000_000
#: That calls of the operating system are recorded shows by any of these.
_SYSTEM: Final = _WRITES | {"read", "poll", "ioctl", "futex", "mmap", "openat", "sem_timedwait", "pthread_cond_wait"}

_FRAMES_SQL: Final = """
SELECT s.id, s.ts, s.ts + s.dur AS stop, s.name_id FROM spans s
WHERE s.name_id IN (SELECT unnest($names)) AND s.category = $category AND s.dur > 0 AND s.step IS NOT NULL
    AND s.track IN (SELECT unnest($threads)) ORDER BY s.ts, s.ts + s.dur DESC
"""
#: A function around these holds the training loop or one turn of it, whatever its name.
_LOOP_SQL: Final = """
SELECT s.ts FROM spans s JOIN names n USING (name_id) WHERE s.category IN ('step', 'dataloader')
    OR s.category IN ('op', 'annotation') AND starts_with(n.name, 'Optimizer.step') ORDER BY s.ts
"""
_SENDING_SQL: Final = """
SELECT s.ts, s.ts + s.dur AS stop FROM spans s
WHERE s.name_id IN (SELECT unnest($names)) AND s.category = 'python' AND s.dur > 0
    AND s.track IN (SELECT unnest($threads))
"""
_MAIN_SQL: Final = """
SELECT DISTINCT track FROM spans WHERE category = 'step'
UNION SELECT DISTINCT s.track FROM spans s JOIN tracks t USING (track) WHERE t.kind = 'host' AND s.category = 'op'
"""

#: Calls that copy, and wait where the memory is not page-locked.
_COPIES: Final = re.compile(r"^(cuda|hip|cu)Memcpy")


@dataclass(frozen=True, slots=True)
class Logging:
    """Outermost functions in steps that log or compute metrics, in time order.

    Attributes:
        events: int64[n].
        ts: int64[n].
        dur: int64[n].
        names: The ones that took longest in all.
    """

    events: NDArray[np.int64]
    ts: Times
    dur: Times
    names: tuple[str, ...]


@signal()
def logging(s: Signals) -> Logging:
    """Functions that log, print or compute metrics, and calls that write, on the threads that run the steps."""
    python = dict(names_of(s.trace, ("python",)))
    if python:
        return _found(s, "python", {i: name for i, name in python.items() if is_logging(name)})
    other = dict(names_of(s.trace, ("other",)))
    if not _SYSTEM.isdisjoint(other.values()):
        return _found(s, "other", {i: name for i, name in other.items() if name in _WRITES}, _LONGEST_LINE_NS)
    raise MissingInputError(
        "the recording has neither Python functions nor calls of the operating system",
        hint="record call stacks, or calls of the operating system",
    )


@signal("share")
def logging_share(s: Signals) -> float:
    """Host time of functions that log, print or compute metrics as a share of the mean step."""
    return int(s(logging).dur.sum()) / s(recorded_steps) / s(step_ns)


@signal("ns")
def logging_waits_ns(s: Signals) -> int:
    """Time in them in which the host waits for a device, ns per step: the first to read a number waits for all work."""
    found, spans, names = s(logging), Spans(s.trace), s.trace.once(names_by_id)
    blocking = [one for one, name in names.items() if _COPIES.search(name)]
    at = np.flatnonzero(np.isin(spans.track, _threads(s)) & (spans.dur > 0))
    at = at[spans.of("sync")[at] | (spans.of("launch", "runtime")[at] & np.isin(spans.name[at], blocking))]
    waits = Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])
    return (waits & Intervals.union_of(found.ts, found.ts + found.dur)).total // s(recorded_steps)


def is_logging(name: str) -> bool:
    """Whether a Python function, named as recorded, logs, prints or computes metrics."""
    if _NOT.search(name):
        return False
    return any(pattern.search(name) for pattern in (_LIBRARIES, _FUNCTIONS, _BUILTINS))


def _found(s: Signals, category: str, names: dict[int, str], longest_ns: int | None = None) -> Logging:
    rows = s.trace.columns(_FRAMES_SQL, {"names": list(names), "category": category, "threads": _threads(s)})
    loop = s.trace.columns(_LOOP_SQL)["ts"]
    held = np.searchsorted(loop, rows["stop"]) > np.searchsorted(loop, rows["ts"])
    held |= _sending(s).at(rows["ts"])
    if longest_ns is not None:
        held |= rows["stop"] - rows["ts"] > longest_ns
    rows = {column: values[~held] for column, values in rows.items()}
    outer = apart(rows["ts"], rows["stop"])
    dur = (rows["stop"] - rows["ts"])[outer]
    ids, index = np.unique(rows["name_id"][outer], return_inverse=True)
    total = np.bincount(index, dur, ids.size) if ids.size else np.zeros(0)
    longest = ids[np.argsort(-total, kind="stable")][:2]
    return Logging(rows["id"][outer], rows["ts"][outer], dur, tuple(names[one] for one in longest.tolist()))


def _sending(s: Signals) -> Intervals:
    """When those threads sent data to other processes."""
    names = [name_id for name_id, name in dict(names_of(s.trace, ("python",))).items() if _SENDING.search(name)]
    rows = s.trace.columns(_SENDING_SQL, {"names": names, "threads": _threads(s)})
    return Intervals.union_of(rows["ts"], rows["stop"])


def _threads(s: Signals) -> list[int]:
    hosts = s.trace.once(host_states)
    threads: list[int] = list(hosts.feeders) if hosts else s.trace.columns(_MAIN_SQL)["track"].tolist()
    return threads
