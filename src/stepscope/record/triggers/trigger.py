"""Why a recording was made: what, when, on which rank, by how much."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

SLOW_STEP: Final = "slow step"
MEMORY_JUMP: Final = "memory jump"
RANKS_APART: Final = "ranks apart"
PLANNED: Final = "steps"
#: What somebody asked for, and how that is said.
_ASKED: Final = {
    PLANNED: "these steps were asked for",
    "file": "a file that was touched asked for it",
    "signal": "a signal asked for it",
    "attach": "stepscope attach asked for it",
    "program": "the program asked for it",
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

    def sentence(self) -> str:
        """It in a sentence, without a full stop."""
        where = f" of rank {self.rank}" if self.world_size > 1 and self.rank >= 0 else ""
        at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.unix_ns / 1e9))
        times = self.value / max(self.usual, 1)
        if self.what == SLOW_STEP:
            longer = f"took {_ms(self.value)}, {times:.1f} times the usual {_ms(self.usual)}"
            said = f"step {self.step:,}{where} {longer}"
        elif self.what == MEMORY_JUMP:
            whose = "the device's memory" if self.of == "device" else "the memory of the process"
            more = f"rose to {_mib(self.value)}, from at most {_mib(self.usual)} before"
            said = f"{whose} in use{where} {more} (step {self.step:,})"
        elif self.what == RANKS_APART:
            said = (
                f"rank {self.rank} ended step {self.step:,} {_ms(self.value)} after {self.of},"
                f" where {_ms(self.usual)} are usual"
            )
        else:
            said = _ASKED.get(self.what, "it was asked for")
        return f"recorded because {said} ({at})"

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
