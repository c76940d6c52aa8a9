"""What the program is, so that advice fits it."""

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
    """What ran: framework, purpose, libraries, platform, whether it is compiled, and how it is spread over ranks."""
    return program_of(s.whole.trace)


@signal()
def generates(s: Signals) -> bool:
    """Whether it makes tokens one after another: it samples them, or serves a model that does."""
    return s(program).kind == "serving" or bool(s.whole.trace.scalar(_TOKENS_SQL))
