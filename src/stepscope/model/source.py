"""What recordings of one kind hold: what whoever comes after the reader may ask about it, in place of its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stepscope.model.inputs import Input
from stepscope.model.program import Framework, Platform


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of recording; its reader states this in its `inputs.py`.

    Attributes:
        inputs: The kinds of input that such recordings may hold, and how each is recorded.
        elsewhere: How inputs are recorded of programs that are not PyTorch's, where that differs; None for those that
            such programs never have.
        framework: What the program is written with where no name in the recording tells.
        platform: Whose devices they are, whatever is recorded; None if that is open.
        likely: Whose devices they are where nothing in the recording tells; None if that stays open.
        marking: How the steps of a PyTorch program are marked; empty if such recordings have no marks.
        marking_elsewhere: The same of other programs.
        timed: Whether they tell how long work takes, rather than what lies in memory.
        by_operators: Whether work of the host is recorded as operators: calls alone are then what is left of it.
        numbered: Whether operators are numbered one after another, so that gaps show what was taken out.
    """

    inputs: Mapping[Input, str] = field(default_factory=dict)
    elsewhere: Mapping[Input, str | None] = field(default_factory=dict)
    framework: Framework = "pytorch"
    platform: Platform | None = None
    likely: Platform | None = None
    marking: str = "call prof.step() after each iteration"
    marking_elsewhere: str = "call prof.step() after each iteration"
    timed: bool = True
    by_operators: bool = False
    numbered: bool = False

    def how(self, needs: Input, pytorch: bool) -> str | None:
        """How an input is recorded of a program; None if such a recording never has it."""
        usual = self.inputs.get(needs)
        return usual if pytorch or usual is None else self.elsewhere.get(needs, usual)
