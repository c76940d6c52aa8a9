"""Steps from annotations: ranges of the user's that repeat in sequence and cover most of the work."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.steps.rounds import ROUNDS, round_steps
from stepscope.ingest.derive.steps.step import HostStep
from stepscope.model.intervals import Times
from stepscope.model.serving_names import served
from stepscope.store.staging import Staging

#: Words for a step; epochs are used only if nothing shorter is marked.
_STEP: Final = re.compile(
    r"(?<![a-z])(?:train|training|eval|val|test)?_?(?:step|iter|iteration|batch)s?(?![a-z])",
    re.I,
)
_EPOCH: Final = re.compile(r"(?<![a-z])epochs?(?![a-z])", re.I)
#: Parts of a step, whatever else they are called: a micro-batch, an optimizer's step, a layer.
_PART: Final = re.compile(
    r"micro|optim|scheduler|zero_grad|layer|block|module|stage|bucket|forward|backward|loss|nccl:|gloo:|_?load|fetch"
    r"|prefetch|batch_?norm|next|to_?(?:gpu|device)",
    re.I,
)
#: A range around a compiled program is named by the program: `TSL:XlaModule:#hlo_module=jit_train_step`.
_COMPILED: Final = re.compile(r"XlaModule|hlo_module")
#: Ranges of compiled graphs: one per pass, or one per layer.
_GRAPH: Final = re.compile(r"^## Call CompiledFxGraph")
#: Kind of all ranges that servers mark passes over a batch with.
_PASS: Final = "step of a server"
_NUMBER: Final = re.compile(r"(\d{1,18})")
_NUMBERED: Final = re.compile(r"(?:step|iter|iteration|batch|epoch)s?\W{0,2}(\d{1,18})(?!\d)", re.I)

#: Least share of launches inside annotations: of those named as steps, and of others.
_NAMED_COVER: Final = 0.5
_UNNAMED_COVER: Final = 0.9
#: A range that is not named as a step is one where it takes so much of the rounds that it recurs in.
_MOST_OF_ROUND: Final = 0.8
#: So many ranges that all end at one moment were begun and never ended: each lasts until the next one begins.
_NEVER_POPPED: Final = 3
#: Nested candidates within this share of each other's cover are equal: the outer one is taken.
_ABOUT: Final = 0.1

_SQL: Final = """
SELECT e.ts, e.dur, e.track, n.name, regexp_replace(n.name, '\\d+', '#', 'g') AS kind
FROM raw_events e JOIN names n USING (name_id) JOIN tracks t USING (track)
WHERE e.category = 'annotation' AND t.kind = 'host' AND e.dur > 0 ORDER BY kind, e.track, e.ts, e.dur DESC
"""

#: Start times of launches; without a device, of operators.
_WORK_SQL: Final = """
SELECT e.ts FROM raw_events e JOIN tracks t USING (track) WHERE t.kind = 'host' AND e.category = '{category}'
ORDER BY e.ts
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Annotations on one thread whose names differ in numbers only.

    Attributes:
        rank: 0 for a name that means a step, 1 for any other, 2 for epochs.
        cover: Share of the launches inside them.
        names: Their names as recorded.
        starts: int64[n], ns, ascending.
        ends: int64[n], ns; the ranges do not overlap.
    """

    rank: int
    cover: float
    names: list[str]
    starts: Times
    ends: Times


def annotated_steps(staging: Staging) -> list[HostStep]:
    """The annotations that mark steps; empty if there are none."""
    connection = staging.connection
    rows = connection.execute(_SQL).fetchnumpy()
    if not rows["ts"].size:
        return []
    work: Times = connection.execute(_WORK_SQL.format(category="launch")).fetchnumpy()["ts"]
    if not work.size:
        work = connection.execute(_WORK_SQL.format(category="op")).fetchnumpy()["ts"]
    if not work.size:
        # Where only ranges are recorded on the host, they count as its work.
        work = np.sort(rows["ts"])
    rows = _passes_alike(rows)
    _, kind = np.unique(rows["kind"].astype(object), return_inverse=True)
    edges = np.flatnonzero((np.diff(kind) != 0) | (np.diff(rows["track"]) != 0)) + 1
    found = [_candidate({name: values[group] for name, values in rows.items()}, work)
             for group in np.split(np.arange(kind.size), edges)]  # fmt: skip
    chosen = _choose([candidate for candidate in found if candidate is not None])
    if chosen is None:
        return []
    if chosen.rank and (rounds := _rounds_around(staging, chosen)):
        return rounds
    numbers = _numbers(chosen.names)
    lengths = (chosen.ends - chosen.starts).tolist()
    columns = zip(chosen.names, numbers, chosen.starts.tolist(), lengths, strict=True)
    return [HostStep(*values) for values in columns]


def _rounds_around(staging: Staging, chosen: Candidate) -> list[HostStep]:
    """Rounds of several parts of which the annotation is one, as in generating, scoring and updating; empty if none."""
    rounds = round_steps(staging)
    inside = int((chosen.ends - chosen.starts).sum())
    if len(rounds) != chosen.starts.size or inside >= _MOST_OF_ROUND * sum(step.dur for step in rounds):
        return []
    staging.observe("steps-found", "info", len(rounds), *ROUNDS)
    return rounds


def _passes_alike(rows: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The same rows with one kind for all passes of a server: they are its steps, whatever phase each of them is in."""
    names, at = np.unique(rows["name"].astype(object), return_inverse=True)
    served_names = np.array([served(str(name)) is not None for name in names], np.bool_)
    if not served_names.any():
        return rows
    kinds = np.where(served_names[at], _PASS, rows["kind"].astype(object))
    _, number = np.unique(kinds, return_inverse=True)
    order = np.lexsort((-rows["dur"], rows["ts"], rows["track"], number))
    return {name: (kinds if name == "kind" else values)[order] for name, values in rows.items()}


def _candidate(rows: dict[str, NDArray[Any]], work: Times) -> Candidate | None:
    """The annotations as a candidate, if they can be steps."""
    kind = _COMPILED.sub("", str(rows["kind"][0]))
    if _PART.search(kind):
        return None
    rank = 0 if _STEP.search(kind) else 2 if _EPOCH.search(kind) else 1
    ts, end = rows["ts"], rows["ts"] + rows["dur"]
    if ts.size >= _NEVER_POPPED and (end == end[0]).all():
        end = np.append(ts[1:], end[-1:])
    reach = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end)[:-1]))
    outer = ts >= reach
    if (end[~outer] > reach[~outer]).any() or (rank and outer.sum() < 2):
        return None
    starts, ends = ts[outer], end[outer]
    inside = np.searchsorted(work, ends) - np.searchsorted(work, starts)
    cover = float(inside.sum() / work.size) if work.size else 0.0
    least = _NAMED_COVER if rank == 0 and starts.size > 1 else _UNNAMED_COVER
    if cover < least or (_GRAPH.search(kind) and not _goes_on(work, starts, ends)):
        return None
    return Candidate(rank, cover, [str(name) for name in rows["name"][outer]], starts, ends)


def _goes_on(work: Times, starts: Times, ends: Times) -> bool:
    """Whether no more work precedes the first and follows the last range than lies between two, as in a loop.

    Layers compiled one by one fail this: the embedding precedes them and the head follows.
    """
    between = np.searchsorted(work, starts[1:]) - np.searchsorted(work, ends[:-1])
    before, after = np.searchsorted(work, starts[0]), work.size - np.searchsorted(work, ends[-1])
    return bool(max(before, after) <= between.max(initial=0))


def _choose(candidates: list[Candidate]) -> Candidate | None:
    """The best candidate: named as steps first, then the highest cover, then the outermost (with the fewest ranges)."""
    if not candidates:
        return None
    rank = min(candidate.rank for candidate in candidates)
    best = [candidate for candidate in candidates if candidate.rank == rank]
    most = max(candidate.cover for candidate in best)
    wide = [candidate for candidate in best if candidate.cover >= most - _ABOUT]
    several = [candidate for candidate in wide if candidate.starts.size > 1] or wide
    return min(several, key=lambda candidate: (candidate.starts.size, -candidate.cover))


def _numbers(names: list[str]) -> list[int | None]:
    """The step number in each name: the one behind the word for a step, else the first that always differs."""
    behind = [_NUMBERED.search(name) for name in names]
    counted = [int(match[1]) if match is not None else -1 for match in behind]
    columns = zip(*([int(digits) for digits in _NUMBER.findall(name)] for name in names), strict=False)
    for column in ([counted] if min(counted) >= 0 else []) + ([list(c) for c in columns] if len(names) > 1 else []):
        if len(set(column)) == len(names) and max(column) < 2**63:
            return list(column)
    return [None] * len(names)
