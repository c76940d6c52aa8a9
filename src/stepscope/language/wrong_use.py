"""What the command line's library says of wrong use, in words that other languages have."""

from __future__ import annotations

import re
from typing import Final

from stepscope.language import pattern, recalled, said

#: What Typer and pydantic say, and how it is said here; groups are values, of which `why` is worded as well.
_WORDINGS: Final = tuple(
    (re.compile(says), wording)
    for says, wording in (
        (r"No such option: (?P<option>\S+)", pattern("No such option: {option}")),
        (
            r"No such option: (?P<option>\S+) \(Possible options: (?P<options>.+)\)",
            pattern("No such option: {option}; did you mean {options}"),
        ),
        (r"No such command (?P<command>'[^']*')", pattern("No such command {command}")),
        (
            r"No such command (?P<command>'[^']*')\. Did you mean (?P<commands>.+)",
            pattern("No such command {command}; did you mean {commands}"),
        ),
        (r"Missing command", pattern("Missing command")),
        (r"Missing argument (?P<name>'.*')", pattern("Missing argument {name}")),
        (r"Missing option (?P<name>'.*')", pattern("Missing option {name}")),
        (r"Option (?P<name>'.*') requires an argument", pattern("Option {name} requires an argument")),
        (r"Option (?P<name>'.*') does not take a value", pattern("Option {name} does not take a value")),
        (
            r"Got unexpected extra argument(?:s|\(s\))? \((?P<arguments>.*)\)",
            pattern("Got unexpected extra arguments ({arguments})"),
        ),
        (r"Invalid value for (?P<name>.+?'): (?P<why>.+)", pattern("Invalid value for {name}: {why}")),
        (r"Input should be a valid integer\b.*", pattern("it must be a whole number")),
        (r"Input should be a valid number\b.*", pattern("it must be a number")),
        (r"Input should be greater than or equal to (?P<least>\S+)", pattern("it must be {least} or more")),
        (r"Input should be greater than (?P<least>\S+)", pattern("it must be more than {least}")),
        (r"Input should be less than or equal to (?P<most>\S+)", pattern("it must be {most} or less")),
        (r"Input should be less than (?P<most>\S+)", pattern("it must be less than {most}")),
        (r"(?P<value>'.*') is not one of (?P<names>.+)", pattern("{value} is not one of {names}")),
    )
)


def in_words(message: str) -> str:
    """A message of the library, without its last point; one of which no wording is known is left as it is."""
    text = " ".join(message.split()).rstrip(".?").replace("Value error, ", "")
    for says, wording in _WORDINGS:
        if found := says.fullmatch(text):
            values = {name: in_words(value) if name == "why" else value for name, value in found.groupdict().items()}
            return said(wording, **values)
    return recalled(text)
