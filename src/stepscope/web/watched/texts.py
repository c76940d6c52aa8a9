"""Texts of the page: what the document holds, and patterns that its script fills."""

from __future__ import annotations

import json
from html import escape
from string import Template
from typing import Final

from stepscope.language import said, spoken, told
from stepscope.web.routes.bundle import TAGS

#: In the document, by the name of their place.
_IN_PLACE: Final = {
    "title": said("stepscope: watching"),
    "watching": said("Watching"),
    "steps": said("Steps"),
    "recordings": said("Recordings"),
}
#: What the script says: values stand as they are, in braces, so that it can fill them.
_SCRIPT: Final = {
    "lengths": said("lengths of the last {count} steps of {name}", count="{count}", name="{name}"),
    "step": said(
        "step {number}: {length}, of which {wait} for data", number="{number}", length="{length}", wait="{wait}"
    ),
    "gone": said("{name} (ended, or on another machine)", name="{name}"),
    "took": said("step {number} took {length}", number="{number}", length="{length}"),
    "none": said("no step yet"),
    "usual": said("{length} are usual", length="{length}"),
    "waited": said("{share} % waited for data", share="{share}"),
    "device": said("{size} at most on the device", size="{size}"),
    "process": said("{size} in the process", size="{size}"),
    "recording": said("{folder}: {reason}", folder="{folder}", reason="{reason}"),
    "removed": said("{folder}: {reason} (removed)", folder="{folder}", reason="{reason}"),
    "running": said("running"),
    "stopped": said("no process runs on this machine"),
    "silent": said("no answer: {why}", why="{why}"),
}


def filled(document: str) -> bytes:
    """The document in the language that is spoken.

    Args:
        document: With `$NAME` for texts, for the tag of the language and for the script's texts.
    """
    texts = {name: escape(told(text)) for name, text in _IN_PLACE.items()}
    # A `<` would end the element in which they stand.
    script = json.dumps({name: told(text) for name, text in _SCRIPT.items()}, ensure_ascii=False).replace(
        "<", "\\u003c"
    )
    return Template(document).substitute(texts, language=TAGS[spoken()], script=script).encode()
