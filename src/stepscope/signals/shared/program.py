"""The program that ran, so that advice fits it."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.program import program_of
from stepscope.model.program import Program
from stepscope.signals.signal import Signals, signal

_TOKENS_SQL: Final = """
SELECT count(*) > 0 FROM names
WHERE regexp_matches(name, '^aten::(argmax|multinomial)$|sampl(e|ing)_|(^|: )generate$|_sample$')
"""


@signal()
def program(s: Signals) -> Program:
    """Framework, purpose, libraries, platform, compilation, and parallelism of the program."""
    return program_of(s.whole.trace)


@signal()
def trains(s: Signals) -> bool | None:
    """Whether the program trains; null if neither a backward pass nor operators that would show one are recorded."""
    told = s(program)
    return True if told.trains else False if told.infers or told.operators else None


@signal()
def generates(s: Signals) -> bool:
    """Whether the program generates tokens one after another: it samples them, or serves a model that does."""
    return s(program).kind == "serving" or bool(s.whole.trace.scalar(_TOKENS_SQL))
