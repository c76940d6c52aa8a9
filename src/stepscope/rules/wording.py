"""How rules say how often, and how many."""

from __future__ import annotations

import re
from typing import Final

#: Of a recording without steps the same is true of the time in which devices were in use.
_WITHOUT_STEPS: Final = (
    (re.compile(r" (?:per|in each|in every|during the) step\b"), ""),
    (re.compile(r"\bof (?:the|each|a) step\b"), "of the time"),
    (re.compile(r"\bshorten the step\b"), "shorten it"),
)


def often(rate: float) -> str:
    """Times per step: `once per step`, `9 times per step`, `once in 2 steps`, followed by nothing."""
    if rate < 0.75:
        return f"once in {round(1 / rate)} steps" if rate > 0 else "never"
    number = round(rate)
    return "once per step" if number == 1 else f"{number:,} times per step"


def without_steps(text: str) -> str:
    """What is said per step, as it is said of a recording in which no steps are known."""
    for pattern, instead in _WITHOUT_STEPS:
        text = pattern.sub(instead, text)
    return text
