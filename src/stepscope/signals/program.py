"""What the program is, so that advice fits it."""

from __future__ import annotations

from stepscope.analyses.program import program_of
from stepscope.model.program import Program
from stepscope.signals.signal import Signals, signal


@signal()
def program(s: Signals) -> Program:
    """What ran: framework, purpose, libraries, platform, whether it is compiled, and how it is spread over ranks."""
    return program_of(s.whole.trace)
