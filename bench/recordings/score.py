"""One answer against one label, and the sum of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.recordings.answer import Answer
from bench.recordings.label import Label

#: A price this many times too large or too small is still of the right size.
FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an answer does against a label; None where the label does not ask.

    Attributes:
        label: The label.
        answer: The answer.
        first: Whether the first finding is of an acceptable family, or rightly absent.
        said: Whether the page has one of the words it should.
        false: Words of findings that must not be there.
        steps: Whether the number of recorded or of typical steps is that of the label.
        gain: Whether the price of the first finding is right within `FACTOR`.
    """

    label: Label
    answer: Answer
    first: bool
    said: bool
    false: tuple[str, ...]
    steps: bool | None
    gain: bool | None


def judge(label: Label, answer: Answer) -> Verdict:
    """Hold an answer against a label."""
    steps = None if label.steps is None else label.steps in (answer.recorded_steps, answer.typical_steps)
    return Verdict(
        label,
        answer,
        answer.family in label.first,
        any(word in answer.page for word in label.say),
        tuple(word for word in label.must_not if word in answer.advice),
        steps,
        None if label.gain is None else _near(answer.share, label.gain),
    )


def _near(share: float | None, gain: float) -> bool:
    return share is not None and gain / FACTOR <= share <= gain * FACTOR


@dataclass(frozen=True, slots=True)
class Figure:
    """How many verdicts are right, of those that a label asks for."""

    name: str
    right: int
    asked: int

    @property
    def share(self) -> float:
        """Between 0 and 1; 1 where nothing was asked."""
        return self.right / self.asked if self.asked else 1.0


def figures(verdicts: Sequence[Verdict]) -> list[Figure]:
    """The sums that the documentation shows."""

    def figure(name: str, values: Sequence[bool | None]) -> Figure:
        asked = [value for value in values if value is not None]
        return Figure(name, sum(asked), len(asked))

    return [
        figure("first finding of an acceptable family, or rightly silent", [one.first for one in verdicts]),
        figure("no finding says what it must not", [not one.false for one in verdicts]),
        figure("the page says what bounds the recording", [one.said for one in verdicts]),
        figure("number of steps", [one.steps for one in verdicts]),
        figure(f"price of the first finding within a factor of {FACTOR:.0f}", [one.gain for one in verdicts]),
        figure("no analysis and no rule failed", [not one.answer.failed for one in verdicts]),
    ]
