"""A check: a function of facts that says what to change, that all is well, or that it can't tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from stepscope.doctor.facts import Facts

Level = Literal["error", "warning", "info"]
LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Advice:
    """Something to change.

    Attributes:
        level: `error` for what fails or costs much in every job, `warning` for what is likely to cost time, `info` for
            what may be meant.
        what: What was found.
        why: What it does to a job.
        change: What to do.
    """

    level: Level
    what: str
    why: str
    change: str


#: What a check says; None if it lacks facts.
Verdict = list[Advice] | None


@dataclass(frozen=True, slots=True)
class Check:
    """A check, documented.

    Attributes:
        name: Short name.
        speaks: When it says something, as half a sentence.
        source: Where that is from: a page of a manual.
        look: Looks at the facts.
    """

    name: str
    speaks: str
    source: str
    look: Callable[[Facts], Verdict]


def check(name: str, speaks: str, source: str) -> Callable[[Callable[[Facts], Verdict]], Check]:
    """Make a check of a function."""

    def made(look: Callable[[Facts], Verdict]) -> Check:
        return Check(name, speaks, source, look)

    return made
