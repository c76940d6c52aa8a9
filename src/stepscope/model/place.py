"""Where a recording belongs among those of an input: its run, rank and span."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.model.recording import Recording


@dataclass(frozen=True, slots=True)
class Place:
    """A recording of an input, with its run, rank and span.

    Attributes:
        recording: Its metadata.
        run: Sub-folder of the input that holds its run; empty if the input is one run.
        rank: Its rank.
        span: Its number among the rank's recordings in time order, from 1.
        analysed: Whether it is part of the trace, or was left for another run or span.
    """

    recording: Recording
    run: str
    rank: int
    span: int
    analysed: bool = True
