"""How small a change is still found: kinds of change planted in sizes from 1 to 10 % of the step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.comparing.judging import Judged, compared, judged, opened, reading
from bench.comparing.plants import PLANTS
from bench.comparing.truth import NotThereError, Truth
from stepscope.comparison.result import Comparison

#: Sizes of plants, as shares of the step.
SHARES: Final = (0.01, 0.02, 0.03, 0.05, 0.1)
#: Kinds whose growth is proportional to their size.
KINDS: Final = (
    "kernel class × 1.5", "longer copies", "slower operator", "slower loader", "synchronisation", "values read back",
    "slower clock", "one slower collective", "single stall", "periodic stall",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Least:
    """The least change of a kind that is found; None where the largest that was tried is not.

    Attributes:
        kind: What was planted.
        steps: Steps of the recording.
        verdict: Growth of the step from which on the verdict says it.
        cause: The same of the cause, surely named.
        wrong: What is said that is not so, at any size.
    """

    kind: str
    steps: int
    verdict: float | None
    cause: float | None
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        told = ["not" if one is None else f"{one:.0%}" for one in (self.verdict, self.cause)]
        return f"| {self.kind} | {self.steps} | {told[0]} | {told[1]} | {'; '.join(self.wrong) or 'nothing wrong'} |"


def least_found(source: Path, only: str, seed: int, place: Path) -> Iterator[Least]:
    """For each kind of change that a recording has a place for, the least that is found.

    Args:
        source: The recording.
        only: Kinds whose name contains one of these, with commas.
        seed: Of the noise.
        place: Where sides are written.
    """
    whole = reading(source)
    base = whole.copy()
    base.jitter(2 * seed - 1)
    with opened(base.save(place / "base.json")) as first:
        for kind in (one for one in KINDS if any(part in one for part in only.split(","))):
            try:
                one = PLANTS[kind](whole.copy(), 1.0)
            except NotThereError:
                continue
            verdict, cause, wrong = None, None, list[str]()
            total = sum(end - start for start, end in whole.steps)
            for share in SHARES:
                if verdict is not None and cause is not None:
                    break
                new = whole.copy()
                truth = PLANTS[kind](new, share * total / max(1, one.added_ns))
                new.jitter(2 * seed)
                with opened(new.save(place / "new.json")) as second:
                    found = compared(first, second)
                row = judged(found, truth)
                verdict = share if verdict is None and found.verdict == "slower" else verdict
                cause = share if cause is None and row.cause and _sure(found, truth) else cause
                if _untrue(found, row):
                    wrong.append(f"at {share:.0%}: {row.said}")
            yield Least(kind, len(whole.steps), verdict, cause, tuple(wrong))


def _sure(found: Comparison, truth: Truth) -> bool:
    return bool(truth.slow) or any(one.sure for one in found.causes)


def _untrue(found: Comparison, row: Judged) -> bool:
    """Whether more is said than that nothing is known: the other direction, or another sure cause first."""
    return found.verdict == "faster" or (not row.cause and any(one.sure for one in found.causes))
