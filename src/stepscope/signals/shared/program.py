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
def generates(s: Signals) -> bool:
    """Whether the program generates tokens one after another: it samples them, or serves a model that does."""
    return s(program).kind == "serving" or bool(s.whole.trace.scalar(_TOKENS_SQL))
