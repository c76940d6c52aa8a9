"""Observations of health that were made once: their messages speak of many."""

from __future__ import annotations

import re
from typing import Final

#: What messages count, and one of it.
_NOUNS: Final = {
    "profiler options": "profiler option",
    "device activities": "device activity",
    "host events": "host event",
    "end events": "end event",
    "events": "event",
    "Python frames": "Python frame",
    "launches": "launch",
    "graph launches": "graph launch",
    "marked steps": "marked step",
    "steps": "step",
    "devices": "device",
    "kernels": "kernel",
    "collectives": "collective",
    "intervals": "interval",
    "stretches": "stretch",
    "rows": "row",
    "parts": "part",
    "names": "name",
    "processes": "process",
    "NVTX ranges": "NVTX range",
    "messages": "message",
    "entries": "entry",
    "blocks": "block",
    "addresses": "address",
    "frees": "free",
    "histories": "history",
    "annotations": "annotation",
    "sizes": "size",
    "segments, blocks or entries": "segment, block or entry",
    "allocations": "allocation",
    "cells": "cell",
    "lines": "line",
    "samples": "sample",
    "values": "value",
    "tables": "table",
    "durations, sizes or devices of launches": "duration, size or device of a launch",
    "frames of call stacks": "frame of a call stack",
    "call stacks": "call stack",
    "sums of the profiler": "sum of the profiler",
}
_VERBS: Final = {
    "are": "is",
    "were": "was",
    "have": "has",
    "lie": "lies",
    "outlive": "outlives",
    "last": "lasts",
    "start": "starts",
    "bear": "bears",
    "use": "uses",
    "overlap": "overlaps",
    "call": "calls",
    "name": "names",
}
_NOUN: Final = re.compile(rf"({'|'.join(sorted(_NOUNS, key=len, reverse=True))})\b")
_VERB: Final = re.compile(rf"(?<!in )\b({'|'.join(_VERBS)})\b")
#: What follows the first verb of a message.
_REST: Final = (
    (re.compile(r"\btheir\b"), "its"),
    (re.compile(r"\bthem\b"), "it"),
    (re.compile(r"\band were\b"), "and was"),
    (re.compile(r"\bno numbers\b"), "no number"),
)
#: How effects begin; what they say further on is of anything.
_EFFECTS: Final = (
    (re.compile(r"^they are\b"), "it is"),
    (re.compile(r"^they have\b"), "it has"),
    (re.compile(r"^they (count|belong)\b"), r"it \1s"),
    (re.compile(r"^their\b"), "its"),
    (re.compile(r"\bbut count\b"), "but counts"),
)


def once(message: str) -> str | None:
    """`1 step is cut by ...` for `steps are cut by ...`; None for a message that counts nothing."""
    noun = _NOUN.match(message)
    if noun is None:
        return None
    rest = _VERB.sub(lambda verb: _VERBS[verb[0]], message[noun.end() :], count=1)
    return f"1 {_NOUNS[noun[0]]}{_replaced(rest, _REST)}"


def of_one(effect: str) -> str:
    """What an observation means, of one thing instead of many."""
    return _replaced(effect, _EFFECTS)


def _replaced(words: str, patterns: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for many, one in patterns:
        words = many.sub(one, words)
    return words
