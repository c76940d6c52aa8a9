"""Why a recording was made: what, when, on which rank, by how much."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from stepscope.record.noted import Noted, noted

SLOW_STEP: Final = "slow step"
MEMORY_JUMP: Final = "memory jump"
RANKS_APART: Final = "ranks apart"
PLANNED: Final = "steps"
#: What somebody asked for, and how that is said.
_ASKED: Final = {
    PLANNED: noted("these steps were asked for"),
    "file": noted("a file that was touched asked for it"),
    "signal": noted("a signal asked for it"),
    "attach": noted("stepscope attach asked for it"),
    "program": noted("the program asked for it"),
}


@dataclass(frozen=True, slots=True)
class Trigger:
    """Why a recording was made.

    Attributes:
        what: `slow step`, `memory jump`, `ranks apart`, or what somebody asked for: `steps` at the
            start, or by a `file`, a `signal`, `attach` or the `program`.
        unix_ns: When.
        rank: On which rank it was seen; -1 where it is none's.
        world_size: Ranks of the job.
        step: In which step; -1 where none is known.
        value: The length of the step in ns, bytes in use, or the ns by which ranks are apart.
        usual: The same of usual steps.
        of: Whose bytes, `device` or `process`, or which rank was first.
    """

    what: str
    unix_ns: int
    rank: int = -1
    world_size: int = 1
    step: int = -1
    value: int = 0
    usual: int = 0
    of: str = ""

    @property
    def is_automatic(self) -> bool:
        """Whether nobody asked."""
        return self.what not in _ASKED

    def sentence(self) -> Noted:
        """It in a sentence, without a full stop."""
        at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.unix_ns / 1e9))
        return noted("recorded because {why} ({at})", why=self._why(), at=at)

    def _why(self) -> Noted:
        of_rank = self.world_size > 1 and self.rank >= 0
        where: str = noted(" of rank {rank}", rank=self.rank) if of_rank else ""
        if self.what == SLOW_STEP:
            return noted(
                "step {step:,}{where} took {took}, {times:.1f} times the usual {usual}",
                step=self.step, where=where, took=_ms(self.value), times=self.value / max(self.usual, 1),
                usual=_ms(self.usual),
            )  # fmt: skip
        if self.what == MEMORY_JUMP:
            device = noted("the device's memory in use{where}", where=where)
            process = noted("the memory of the process in use{where}", where=where)
            return noted(
                "{what} rose to {size}, from at most {before} before (step {step:,})",
                what=device if self.of == "device" else process, size=_mib(self.value), before=_mib(self.usual),
                step=self.step,
            )  # fmt: skip
        if self.what == RANKS_APART:
            return noted(
                "rank {rank} ended step {step:,} {apart} after {first}, where {usual} are usual",
                rank=self.rank, step=self.step, apart=_ms(self.value), first=self.of, usual=_ms(self.usual),
            )  # fmt: skip
        return _ASKED.get(self.what) or noted("it was asked for")

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def of_values(cls, values: Any) -> Trigger:
        """From JSON values; what this version does not know is left out.

        Raises:
            ValueError: They are none.
        """
        if not isinstance(values, dict) or not isinstance(values.get("what"), str):
            raise ValueError("it says no reason")
        known = {one.name for one in fields(cls)}
        given = {name: value for name, value in values.items() if name in known}
        texts = ("what", "of")
        if not all(isinstance(value, str if name in texts else int) for name, value in given.items()):
            raise ValueError("its reason can't be read")
        if any(isinstance(value, int) and value.bit_length() > 63 for value in given.values()):
            raise ValueError("its reason can't be true")
        return cls(**{"unix_ns": 0, **given})


def _ms(ns: int) -> str:
    return f"{ns / 1e6:,.1f} ms" if ns < 10_000_000_000 else f"{ns / 1e9:,.1f} s"


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
