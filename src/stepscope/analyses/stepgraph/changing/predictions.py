"""Changes in words and what they would do to the mean step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepscope.analyses.stepgraph.ceilings import ceilings
from stepscope.analyses.stepgraph.changing.change import Prediction
from stepscope.analyses.stepgraph.changing.changes import change_of
from stepscope.analyses.stepgraph.graph import StepGraph
from stepscope.model.trace import Trace


def predictions(trace: Trace, words: Mapping[str, Sequence[str]]) -> list[tuple[str, Prediction]]:
    """What all these words mean together; without any, what each part of the job is worth at most.

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
