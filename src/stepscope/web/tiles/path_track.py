"""The critical path of a rank's steps as a track: which work or waiting set the steps' length, moment by moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.building import nodes as graph
from stepscope.analyses.stepgraph.labels import labelled
from stepscope.analyses.stepgraph.path import critical_segments
from stepscope.web.tiles.timeline import Timeline


def path_of(timeline: Timeline, rank: int) -> dict[str, Any]:
    """The critical path of a rank, in the order of time.

    Returns:
        `labels`, each a part and a detail as in `critical_path`; and for each segment `start`, `end` (ns on the common
        axis), `label` (its position, that of the largest part of it) and `event`, the device activity, -1 for others.

    Raises:
        UserError: There is no such rank.
        MissingInputError: The recording has neither device work nor host steps.
    """
    trace = timeline.trace_of(rank)
    built = StepGraph.of(trace).built
    segments = critical_segments(built)
    parts = labelled(trace, built, segments)
    labels = sorted(set(parts.label), key=lambda label: (label[0], label[1] or ""))
    number = {label: at for at, label in enumerate(labels)}
    of = np.zeros(segments.step.size, np.int64)
    # The largest part of a segment comes last, and stays.
    for at in np.argsort(parts.took, kind="stable").tolist():
        of[parts.segment[at]] = number[parts.label[at]]
    works = (segments.kind == graph.NODE) & (built.graph.nodes.kind[segments.node] == graph.DEVICE)
    event = np.where(works, built.graph.nodes.event[segments.node], -1)
    order = np.argsort(segments.starts, kind="stable")
    shift = timeline.axis.shift[rank]
    return {
        "rank": rank,
        "labels": labels,
        "start": (segments.starts[order] + shift).tolist(),
        "end": (segments.ends[order] + shift).tolist(),
        "label": of[order].tolist(),
        "event": event[order].tolist(),
    }
