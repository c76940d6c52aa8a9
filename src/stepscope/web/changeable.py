"""What can be changed in a rank's steps, and what the steps would be like then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.web.making import Note

if TYPE_CHECKING:
    from stepscope.analyses.stepgraph import Prediction
    from stepscope.model.events.change import Change
    from stepscope.model.trace import Trace
    from stepscope.rules.settings import Settings

#: Changes in one question.
_MOST: Final = 64


@dataclass(frozen=True, slots=True)
class Asked:
    """Changes to be predicted together: keys of findings, and what follows the options of `stepscope whatif`."""

    findings: Sequence[str] = ()
    scale: Sequence[str] = ()
    remove: Sequence[str] = ()
    overlap: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Changeable:
    """What can be changed in the steps of one rank.

    Attributes:
        trace: The rank's trace.
        findings: By key (the rule's code, with a number from the second of a rule on) title and change.
        offered: What the page offers, as JSON values.
    """

    trace: Trace
    findings: dict[str, tuple[str, Change]]
    offered: dict[str, Any]

    @classmethod
    def of(cls, trace: Trace, settings: Settings, note: Note) -> Changeable:
        """Diagnose a rank, and predict each change alone.

        Raises:
            MissingInputError: The recording has neither device work nor host steps.
        """
        from stepscope.analyses.stepgraph import StepGraph
        from stepscope.analyses.stepgraph.whatif.predictions import ceilings
        from stepscope.rules.engine import Diagnosing

        note("the dependency graph of the steps", 0, 3)
        graph = StepGraph.of(trace)
        note("what findings change", 1, 3)
        diagnosing = Diagnosing(settings)
        diagnosing.look_at(trace)
        found: dict[str, tuple[str, Change]] = {}
        numbers: dict[str, int] = {}
        for code, title, change in diagnosing.changes():
            numbers[code] = numbers.get(code, 0) + 1
            found[code if numbers[code] == 1 else f"{code}.{numbers[code]}"] = (title, change)
        note("what each part is worth", 2, 3)
        findings = [
            {"key": key, "title": title, "saved_ns": max(graph.predict(change).saved_ns, 0)}
            for key, (title, change) in found.items()
        ]
        parts: dict[str, dict[str, int]] = {}
        for words, prediction in ceilings(trace):
            option, _, subject = words.removeprefix("--").partition(" ")
            parts.setdefault(subject, {})[option] = prediction.saved_ns
        return cls(trace, found, {"findings": findings, "parts": _described(parts)})

    def answer(self, asked: Asked) -> dict[str, Any]:
        """The mean step with these changes, and what its critical path consists of before and after.

        Raises:
            UserError: A change means nothing, or there are too many.
        """
        from stepscope.analyses.stepgraph import StepGraph
        from stepscope.analyses.stepgraph.changed_path import path_times
        from stepscope.analyses.stepgraph.whatif.changes import change_of
        from stepscope.model.events.change import Change

        given = (asked.findings, asked.scale, asked.remove, asked.overlap)
        if (number := sum(len(one) for one in given)) > _MOST:
            raise UserError(said("a question may name {most} changes, not {number}", most=_MOST, number=number))
        for key in asked.findings:
            if key not in self.findings:
                hint = (
                    choose(key, tuple(self.findings)) if self.findings else said("none changes the steps of this rank")
                )
                raise UserError(said("the rank has no finding {key!r}", key=key[:40]), hint=hint)
        trace = self.trace.for_thread()
        words = change_of(trace, scale=asked.scale, remove=asked.remove, overlap=asked.overlap)
        change = reduce(add, (self.findings[key][1] for key in asked.findings), Change()) + words
        prediction = StepGraph.of(trace).predict(change)
        path = [asdict(one) for one in path_times(trace, change, prediction)]
        return {**self.offered, "prediction": _told(prediction), "path": path}


def _described(parts: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    """Parts with what may be done to them and what that is worth at most, in words."""
    from stepscope.analyses.stepgraph.whatif.subjects import SUBJECTS

    found = []
    for subject, worth in parts.items():
        name, _, what = subject.partition(":")
        known = SUBJECTS.get(name)
        short = known.description.partition(":")[0].partition(", or ")[0] if known else ""
        words = f"{what} kernels" if name == "kernel" and what else short
        told = {"subject": subject, "words": words or "waits of the host for the device", "scales": known is not None}
        found.append({**told, "removed_ns": worth.get("remove"), "overlapped_ns": worth.get("overlap")})
    return found


def _told(prediction: Prediction) -> dict[str, Any]:
    told = asdict(prediction)
    return {**told, "steps": [int(step) for step in told["steps"]]}
