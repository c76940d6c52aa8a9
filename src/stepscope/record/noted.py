"""What a process of the job says for people, with its pattern and values, so that the launcher can tell it.

The launcher may speak another language (`retold.py`).

Within the job it is the English text; it depends on nothing, since it is there in every process.
"""

from __future__ import annotations

from typing import Any


class Noted(str):
    """A text that remembers what it was made of.

    Attributes:
        pattern: The English pattern, with values as in `str.format`; the catalogue of this folder has it.
        values: What stands for the names; texts that are `Noted` are told, too.
    """

    __slots__ = ("pattern", "values")
    pattern: str
    values: dict[str, Any]

    def __new__(cls, pattern: str, values: dict[str, Any]) -> Noted:
        """Fill the pattern in English."""
        text = super().__new__(cls, pattern.format_map(values))
        text.pattern, text.values = pattern, values
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return Noted, (self.pattern, self.values)


def noted(pattern: str, /, **values: Any) -> Noted:
    """A text: a constant pattern with named values."""
    return Noted(pattern, values)


def as_json(text: Any) -> Any:
    """A text, or a list of some, as a JSON value: a plain one, or a number, as it is."""
    if isinstance(text, list):
        return [as_json(one) for one in text]
    if not isinstance(text, Noted):
        return text
    return {"pattern": text.pattern, "values": {name: as_json(value) for name, value in text.values.items()}}


def of_json(value: Any) -> Any:
    """The text of such a value, or the list of some.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, list):
        return [of_json(one) for one in value]
    if not isinstance(value, dict):
        return value
    try:
        return Noted(value["pattern"], {name: of_json(one) for name, one in value["values"].items()})
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError("it is no text") from error
