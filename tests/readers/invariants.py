"""What every query may rely on, of the trace of one rank."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.categories import CATEGORIES, KERNEL_KINDS, TRACK_KINDS
from stepscope.model.trace import Trace

Columns = dict[str, NDArray[Any]]

#: Ids are 0 or more: -1 stands for none.
_SPANS: Final = """
SELECT id, ts, coalesce(dur, 0) AS dur, track, category, depth IS NOT NULL AS nested, coalesce(depth, -1) AS depth,
    coalesce(parent, -1) AS parent, step IS NOT NULL AS in_step, coalesce(step, 0) AS step,
    correlation IS NOT NULL AS related, coalesce(correlation, 0) AS correlation FROM spans
"""
_KERNELS: Final = """
SELECT event, ts, dur, track, kind, coalesce(launch, -1) AS launch, coalesce(op, -1) AS op,
    coalesce(module, -1) AS module, coalesce(graph, -1) AS graph, correlation IS NOT NULL AS related,
    coalesce(correlation, 0) AS correlation FROM kernels
"""
#: Events that other tables refer to.
_REFERRED: Final = """
SELECT 'event' AS by, event AS id FROM copies UNION ALL SELECT 'event', event FROM collectives
UNION ALL SELECT 'inputs', event FROM op_inputs
UNION ALL SELECT 'flow', source FROM flows WHERE source IS NOT NULL
UNION ALL SELECT 'flow', target FROM flows WHERE target IS NOT NULL
"""


def check_rank(trace: Trace) -> None:
    """Check the canonical tables of a rank against each other; few statements, since each takes a millisecond."""
    events = trace.columns("SELECT id, ts, coalesce(dur, 0) AS dur, category FROM events")
    spans, kernels = trace.columns(_SPANS), trace.columns(_KERNELS)
    tracks = trace.columns("SELECT track, kind FROM tracks")
    steps = trace.columns('SELECT step, ts, dur, "end" FROM steps')
    referred = trace.columns(_REFERRED)
    health = trace.rows("SELECT code, severity, count, message, effect FROM health")
    on = _positions(tracks["track"], spans["track"])
    # The last place stands for no track.
    spans["kind"] = np.append(tracks["kind"], "").astype(object)[on]
    _none("an id is given twice", _repeated(events["id"]))
    _none("a time before the origin", events["id"][(events["ts"] < 0) | (events["dur"] < 0)])
    _none("an unknown category", _unknown(events["category"], CATEGORIES))
    _none("an unknown kind of track", _unknown(tracks["kind"], TRACK_KINDS))
    _none("an event on no track", spans["id"][on < 0])
    _none("an event on a counter's track", spans["id"][spans["kind"] == "counter"])
    _none("a host event without depth", spans["id"][(on >= 0) & ((spans["kind"] == "host") != spans["nested"])])
    _check_parents(spans)
    _check_steps(spans, steps)
    _check_kernels(spans, kernels)
    sums_only = any(line["code"] == "sums-only" for line in health)
    # Parts of work that is a kernel as a whole are `other`, marks of the profiler `overhead`. Of a rank of which only
    # sums are at hand, collectives are known and no kernels.
    known = ("annotation", "other", "overhead", *(("collective",) if sums_only else ()))
    work = (spans["kind"] == "device") & ~_among(spans["category"], known)
    _none("device work that is no kernel", np.setdiff1d(spans["id"][work], kernels["event"]))
    at = _positions(spans["id"], referred["id"])
    for by, what in (("event", "a copy or a collective of no event"), ("flow", "flows from or to nowhere")):
        _none(what, referred["id"][(referred["by"] == by) & (at < 0)])
    # Some profilers record the inputs of kernels themselves.
    is_op = (at >= 0) & _among(_taken(spans["category"], at), ("op", "dataloader", "step", "kernel"))
    _none("inputs of what is no operator or kernel", referred["id"][(referred["by"] == "inputs") & ~is_op])
    for line in health:
        assert line["count"] >= 1, line
        assert line["severity"] in ("error", "warning", "info"), line
        assert all(line[text] and not line[text].endswith(".") for text in ("message", "effect")), line
    assert spans["ts"].min() == 0
    assert spans["id"].size == events["id"].size == trace.recordings[trace.ranks[0]].events


def _check_parents(spans: Columns) -> None:
    at = _positions(spans["id"], spans["parent"])
    child, parent = np.flatnonzero(at >= 0), at[at >= 0]
    wrong = spans["track"][parent] != spans["track"][child]
    nested = spans["nested"][parent] & spans["nested"][child]
    wrong |= nested & (spans["depth"][parent] != spans["depth"][child] - 1)
    since = spans["ts"][child] - spans["ts"][parent]
    wrong |= (since < 0) | (since > spans["dur"][parent])
    _none("a parent on another track, or one that does not enclose its child's start", spans["id"][child[wrong]])
    lost = ((spans["depth"] > 0) | (spans["parent"] != -1)) & (at < 0)
    _none("a parent that is not there", spans["id"][lost])


def _check_steps(spans: Columns, steps: Columns) -> None:
    order = np.lexsort((steps["dur"], steps["ts"]))
    start, stop = steps["ts"][order], (steps["ts"] + steps["dur"])[order]
    _none("steps that overlap", steps["step"][order[1:][start[1:] < stop[:-1]]])
    ends = (steps["dur"] < 0) | (steps["end"] < steps["ts"] + steps["dur"])
    _none("a step that ends before it starts", steps["step"][ends])
    _none("steps of a rank that are called the same", _repeated(steps["step"]))
    at = _positions(steps["step"], spans["step"])
    inside = spans["ts"] - _taken(steps["ts"], at)
    outside = (at < 0) | (inside < 0) | (inside >= _taken(steps["dur"], at))
    _none("an event outside its step", spans["id"][(spans["kind"] == "host") & spans["in_step"] & outside])


def _check_kernels(spans: Columns, kernels: Columns) -> None:
    def of(ids: NDArray[Any]) -> tuple[NDArray[np.int64], Columns]:
        at = _positions(spans["id"], ids)
        return at, {name: _taken(values, at) for name, values in spans.items()}

    at, launch = of(kernels["launch"])
    wrong = (at < 0) | ~_among(launch["category"], ("launch", "runtime", "sync")) | (launch["kind"] != "host")
    wrong |= launch["related"].astype(bool) & kernels["related"] & (launch["correlation"] != kernels["correlation"])
    what = "a launch that is no call on the host with the same correlation"
    _none(what, kernels["event"][(kernels["launch"] != -1) & wrong])
    for name in ("op", "module", "graph"):
        at, around = of(kernels[name])
        wrong = (kernels[name] != -1) & ((at < 0) | (around["kind"] != "host"))
        _none(f"{name} that is no host event", kernels["event"][wrong])
    at, event = of(kernels["event"])
    wrong = at < 0
    for name in ("ts", "dur", "track"):
        wrong |= event[name] != kernels[name]
    _none("a kernel that is not its event", kernels["event"][wrong])
    _none("an event that is two kernels", _repeated(kernels["event"]))
    _none("an unknown kind of work", _unknown(kernels["kind"], KERNEL_KINDS))


def _none(what: str, rows: NDArray[Any]) -> None:
    assert not rows.size, f"{what}: {rows[:5].tolist()}"


def _positions(keys: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """Position of each value in `keys`; -1 where it is not among them."""
    if not keys.size:
        return np.full(values.size, -1, np.int64)
    order = np.argsort(keys, kind="stable")
    at = order[np.minimum(np.searchsorted(keys, values, sorter=order), keys.size - 1)]
    return np.where(keys[at] == values, at, -1)


def _taken(values: NDArray[Any], at: NDArray[np.int64]) -> NDArray[Any]:
    """Values at these positions; anything at -1."""
    return values[at] if values.size else np.zeros(at.size, values.dtype)


def _among(words: NDArray[Any], chosen: tuple[str, ...]) -> NDArray[np.bool_]:
    found = np.zeros(words.size, np.bool_)
    for word in chosen:
        found |= words == word
    return found


def _repeated(values: NDArray[Any]) -> NDArray[Any]:
    found, number = np.unique(values, return_counts=True)
    return found[number > 1]


def _unknown(words: NDArray[Any], known: tuple[str, ...]) -> NDArray[Any]:
    return words[~_among(words, known)]
