"""What tests of rules need: what a rule says of given signals, and of small traces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chinese_support import english_left
from stepscope.analyses.idle.causes import CAUSES
from stepscope.model.trace import Trace
from stepscope.rules.engine import diagnose, drafts_of
from stepscope.rules.finding import Finding
from stepscope.rules.registry import all_rules
from stepscope.rules.rule import Draft
from stepscope.rules.settings import Settings
from stepscope.signals import Signals

#: Folder of the folders of tests of rules.
RULES_OF = Path(__file__).with_name("rules")
_UNIT = r"%|[nµm]?s\b|[KMGTP]i?B(?:/s)?\b|B(?:/s)?\b|bytes\b|[KMGTP]?FLOP/s|MHz\b"
_FACT = re.compile(rf"(?<![\w.])\d(?:[\d,.]*\d)?(?: (?:{_UNIT}))?|[A-Za-z]\w*(?:::|_|\.)\w[\w.:()]*")


def figures(summary: str) -> list[str]:
    """The figures with their units and the names of code in a summary, sorted: what it states, in whatever words."""
    return sorted(one.rstrip(".:") for one in _FACT.findall(summary))


class Least(float):
    """A threshold called `min_...`: a value that equals it counts, and no comparison says otherwise."""

    def __lt__(self, value: float) -> bool:
        raise AssertionError(f"{value} is compared with > to a threshold of {float(self)}: say >=")

    def __ge__(self, value: float) -> bool:
        raise AssertionError(f"{value} is compared with <= to a threshold of {float(self)}: say <")


def inclusive(limits: Mapping[str, float]) -> dict[str, float]:
    """The thresholds, none of which a rule can compare as if it were beyond the limit."""
    return {name: Least(value) if name.startswith("min_") else value for name, value in limits.items()}


def drafts(code: str, given: Mapping[Any, Any], limits: Mapping[str, float] | None = None) -> list[Draft]:
    """What a rule of one rank says of signals with these values; it raises where another is read."""
    registered = all_rules()[code]
    known = inclusive({**Settings().limits(registered), **(limits or {})})
    return [possible(draft) for draft in drafts_of(registered, Signals(0, given), known)]


def job_drafts(code: str, ranks: Mapping[int, Mapping[Any, Any]]) -> list[Draft]:
    """What a rule of the whole job says of ranks whose signals have these values; others are not at hand."""
    registered = all_rules()[code]
    assert registered.rule.job_check is not None
    sealed = {rank: Signals(rank, given).sealed(registered.rule.reads) for rank, given in ranks.items()}
    return [possible(draft) for draft in registered.rule.job_check(sealed, inclusive(Settings().limits(registered)))]


def possible(draft: Draft) -> Draft:
    """The draft: its confidence is a share, its times are not negative, its causes of idleness exist."""
    assert 0 < draft.confidence <= 1
    assert all(ns is None or ns >= 0 for ns in (draft.cost_ns, draft.most_ns, draft.taken_ns, draft.placed_as_ns))
    for row in draft.rows:
        if row["table"] == "idle_causes":
            cause, detail = row["where"]["cause"], row["where"].get("detail")
            assert any(cause == one and detail in (None, other) for one, other in CAUSES)
    return draft


def findings(code: str, trace: Trace) -> list[Finding]:
    """What a rule finds in a trace, shown or not."""
    found = list(diagnose(trace, Settings(select=(code,)), strict=True).findings)
    assert all(0 < one.confidence <= 1 for one in found)
    return found


@contextmanager
def drafts_made() -> Iterator[list[Draft]]:
    """All that rules say within, whatever becomes of it."""
    made: list[Draft] = []
    original = Draft.__init__

    def noting(self: Draft, *args: Any, **values: Any) -> None:
        original(self, *args, **values)
        made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draft, "__init__", noting)
        yield made


def untold(made: Sequence[Draft]) -> dict[str, list[str]]:
    """English words, but names, that are left of texts of drafts in Chinese, by text; Chinese in English texts, too."""
    texts = {text for draft in made for text in (draft.title, draft.summary, *(one.text for one in draft.actions))}
    found = {text: english_left(text) + re.findall("[\u4e00-\u9fff]", text) for text in texts}
    return {text: words for text, words in found.items() if words}
