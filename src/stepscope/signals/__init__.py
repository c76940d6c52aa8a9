"""Named numbers about a trace, each computed once: all that rules may read."""

from __future__ import annotations

from stepscope.signals.signal import Signal, Signals, signal

__all__ = ["Signal", "Signals", "signal"]
