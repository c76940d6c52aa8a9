"""Predictions for changes as users write them; without any, upper bounds for each part of the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from stepscope.analyses.stepgraph.graph import Prediction, StepGraph
from stepscope.analyses.stepgraph.whatif.changes import change_of
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace

#: What is looked at besides the classes of kernels: `--remove` and `--overlap`.
_REMOVED: Final = ("data_wait", "sync", "host", "launch", "allocation", "gc", "profiler", "kernel", "copy", "comm")
_OVERLAPPED: Final = ("comm", "copy")

_CLASSES_SQL = "SELECT DISTINCT op_class AS class FROM kernels WHERE kind = 'compute' ORDER BY 1"


def predictions(trace: Trace, words: Mapping[str, Sequence[str]]) -> list[tuple[str, Prediction]]:
    """The effect of all given changes together; without any, what each part of the job is worth at most.

    Args:
        trace: The trace of one rank.
        words: What follows `--scale`, `--remove` and `--overlap` of `stepscope whatif`.

    Raises:
        UserError: A word means nothing, or no event of the trace.
        MissingInputError: The recording has neither device work nor host steps.
    """
    if not any(words.values()):
        return ceilings(trace)
    named = " ".join(f"--{option} {each}" for option, given in words.items() for each in given)
    return [(named, StepGraph.of(trace).predict(change_of(trace, **words)))]


def ceilings(trace: Trace) -> list[tuple[str, Prediction]]:
    """Upper bounds for the subjects that the recording has, as changes with predictions, the most specific first.

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
