"""Choose what to advise of all that a recording lacks: at most three things, the most useful first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from stepscope.model.program import Program
from stepscope.rules.finding import Action
from stepscope.rules.fitting import fits
from stepscope.rules.rule import Draft
from stepscope.signals import Signals
from stepscope.signals.recording.enough import Verdict, verdict
from stepscope.signals.recording.recording import KINDS, calls_known, gaps, profiler, work_known
from stepscope.signals.shared.job import platform
from stepscope.signals.shared.program import program

MOST: Final = 3
#: What every rule of the family reads of each rank.
READS: Final = (gaps, profiler, platform, program, verdict, calls_known, work_known)
#: Where too little of the job is recorded (REC013), only these are worth saying besides.
_EVEN_SO: Final = ("lost", "overhead", "device", "host")
#: What these leave open is idle time, which is not known where events were taken out.
_OF_IDLE_TIME: Final = ("steps", "stacks", "memory")


@dataclass(frozen=True, slots=True)
class Lacking:
    """Something that recordings lack and that is worth advising.

    Attributes:
        ranks: Ranks whose recordings lack it.
        weight: Share of the step that hangs on it, on the rank where that is most.
        profiler: What made the recordings.
        platform: What advice is written for.
        program: What ran, if that is known.
    """

    ranks: tuple[int, ...]
    weight: float
    profiler: str
    platform: str
    program: Program | None = None


def lacking(signals: Mapping[int, Signals], kind: str) -> Lacking | None:
    """A kind of gap in the recording, if it is among the most useful to fill; else None."""
    verdicts = {(s.maybe(verdict) or Verdict()).kind for s in signals.values()}
    if verdicts == {"nothing"} or (verdicts <= {"few", "first use"} and kind not in _EVEN_SO):
        return None
    untold = _OF_IDLE_TIME if verdicts == {"thinned"} else ()
    weights: dict[str, float] = {}
    ranks: dict[str, list[int]] = {}
    for rank, s in sorted(signals.items()):
        for name, weight in (s.maybe(gaps) or {}).items():
            if name in untold:
                continue
            weights[name] = max(weight, weights.get(name, 0.0))
            ranks.setdefault(name, []).append(rank)
    foremost = sorted(weights, key=lambda name: (-weights[name], KINDS.index(name)))[:MOST]
    if kind not in foremost:
        return None
    first = signals[ranks[kind][0]]
    return Lacking(
        tuple(ranks[kind]), weights[kind], first.maybe(profiler) or "", first.maybe(platform) or "other",
        first.maybe(program),
    )  # fmt: skip


def advice(found: Lacking | None, title: str, summary: str, actions: Mapping[str, Action]) -> Iterator[Draft]:
    """A draft without price; the action is that for the profiler at hand, or the one for any (key `any`).

    Where the program can't follow it, the one in general words (key `otherwise`) takes its place, if there is one.
    """
    if found is not None:
        action = actions.get(found.profiler, actions["any"])
        if found.program is not None and not fits(action, found.program):
            action = actions.get("otherwise", action)
        yield Draft(
            title=title,
            summary=summary,
            actions=(action,),
            confidence=1.0,
            numbers={gaps.name: round(found.weight, 3)},
            ranks=found.ranks,
        )
