"""Properties of a kind of recording, which later layers ask for instead of comparing the reader's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from stepscope.language import pattern
from stepscope.model.inputs import Input
from stepscope.model.program import Framework, Platform

_MARKING: Final = pattern("call prof.step() after each iteration")


@dataclass(frozen=True, slots=True)
class SourceTraits:
    """Properties of one kind of recording, stated by its reader in `inputs.py`.

    Attributes:
        inputs: How each kind of input that such recordings may hold is recorded.
        elsewhere: The same for programs without PyTorch, where it differs; None for inputs that those never have.
        framework: The program's framework if no recorded name shows it.
        platform: The devices' vendor, always; None if it varies.
        likely: The devices' vendor if the recording does not show it; None if unknown.
        marking: How to mark steps in a PyTorch program; empty if such recordings have no marks.
        marking_elsewhere: How to mark steps in other programs.
        timed: Whether they hold durations of work, not only memory contents.
        companion: Whether they add to a recording beside them.
        alone: Whether what adds to a recording can be opened by itself, too.
        by_operators: Whether host work is recorded as operators, so that a recording with calls alone is a reduced one.
        numbered: Whether operators are numbered consecutively, so that gaps show removed ones.
        profiler: What users call the profiler; empty for its reader's name.
        file_name: Regular expression of the names that the profiler gives to files or folders by itself, with groups
            `worker` and `time`; None if it leaves names to the user.
    """

    inputs: Mapping[Input, str] = field(default_factory=dict)
    elsewhere: Mapping[Input, str | None] = field(default_factory=dict)
    framework: Framework = "pytorch"
    platform: Platform | None = None
    likely: Platform | None = None
    marking: str = _MARKING
    marking_elsewhere: str = _MARKING
    timed: bool = True
    companion: bool = False
    alone: bool = False
    by_operators: bool = False
    numbered: bool = False
    profiler: str = ""
    file_name: str | None = None

    def how(self, needs: Input, pytorch: bool) -> str | None:
        """How to record an input; None if such a recording never has it."""
        usual = self.inputs.get(needs)
        return usual if pytorch or usual is None else self.elsewhere.get(needs, usual)
