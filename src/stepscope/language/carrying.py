"""Texts as JSON values: what one process says and another tells, in whatever language that speaks."""

from __future__ import annotations

from typing import Any

from stepscope.language.said import Said, listing

_PLAIN = (str, int, float, bool)


def carried(text: Any) -> Any:
    """A text as a JSON value: a plain one as it is, what was said as its pattern and values.

    Args:
        text: The text, or a value of one; what JSON has no value for is written as a text.
    """
    if not isinstance(text, Said):
        return text if text is None or isinstance(text, _PLAIN) else str(text)
    if parts := getattr(text, "parts", ()):
        return {"parts": [carried(one) for one in parts], "between": text.pattern}
    values = {name: carried(value) for name, value in text.values.items()}
    return {"pattern": text.pattern, "values": values, "many": text.many, "number": text.number}


def brought(value: Any) -> str:
    """The text of such a value, as it was said.

    Raises:
        ValueError: It is none.
    """
    try:
        found = _brought(value)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError("it is no text") from error
    if not isinstance(found, str):
        raise ValueError("it is no text")
    return found


def _brought(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "parts" in value:
        return listing([brought(one) for one in value["parts"]], value["between"])
    values = {name: _brought(one) for name, one in value["values"].items()}
    return Said(value["pattern"], values, value.get("many", ""), value.get("number", 1))
