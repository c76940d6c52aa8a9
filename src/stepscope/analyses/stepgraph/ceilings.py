"""What the steps would save at most, were each part of the job gone: where it pays to look."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.stepgraph.changing.change import Prediction
from stepscope.analyses.stepgraph.changing.changes import change_of
from stepscope.analyses.stepgraph.graph import StepGraph
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace

#: What is looked at besides the classes of kernels: `--remove` and `--overlap`.
_REMOVED: Final = ("data_wait", "sync", "host", "launch", "allocation", "gc", "profiler", "kernel", "copy", "comm")
_OVERLAPPED: Final = ("comm", "copy")

_CLASSES_SQL = "SELECT DISTINCT op_class AS class FROM kernels WHERE kind = 'compute' ORDER BY 1"


def ceilings(trace: Trace) -> list[tuple[str, Prediction]]:
    """Changes in words and what they would do, the most telling first; only those that the recording has.

    Raises:
        MissingInputError: The recording has neither device work nor host steps.
    """
    graph = StepGraph.of(trace)
    classes = [f"kernel:{name}" for name in trace.columns(_CLASSES_SQL)["class"].tolist()]
    found: list[tuple[str, Prediction]] = []
    for option, subjects in (("remove", (*_REMOVED, *classes)), ("overlap", _OVERLAPPED)):
        for subject in subjects:
            try:
                change = change_of(trace, **{option: [subject]})
            except UserError:  # the recording has none of these
                continue
            found.append((f"--{option} {subject}", graph.predict(change)))
    return sorted(found, key=lambda each: (-each[1].saved_ns, each[0]))
