"""From a user's words to a place in the guide."""

from __future__ import annotations

from pathlib import Path

from stepscope.guide.chinese import WORDS
from stepscope.guide.node import GuidePlace
from stepscope.guide.tree import BY_KEY, TREE
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose


def place(symptom: str) -> GuidePlace:
    """The place that a symptom leads to: its key, or the place with the longest of its words in the symptom.

    Raises:
        UserError: None has any.
    """
    plain = " ".join(symptom.lower().split())
    if plain in BY_KEY:
        return BY_KEY[plain]
    found = [
        (len(word), -number, node)
        for number, node in enumerate(TREE)
        for word in (*node.symptoms, *WORDS[node.key])
        if word in plain
    ]
    if not found and ("/" in symptom or Path(symptom).suffix[1:].isalnum()):
        raise UserError(said("{path} does not exist", path=symptom), hint="check the path")
    if not found:
        raise UserError(said("the guide has nothing on {symptom!r}", symptom=symptom), hint=choose(plain, BY_KEY))
    return max(found, key=lambda one: one[:2])[2]
