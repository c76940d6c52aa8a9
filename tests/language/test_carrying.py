"""Texts that go from one process to another, or come back from a file, are told there as here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepscope.language import brought, carried, counted, listing, said, told
from stepscope.model.amounts import plural

TEXTS = (
    "a name of the recording",
    said("cut short"),
    said("ends with status {status}: {last}", status=1, last="ValueError: no"),
    said("can't be applied: {why}", why=said("{name} is {value}", name="A", value=1)),
    listing((said("losses"), said("gradient norms")), " and "),
    listing((said("losses"), "a", said("results")), "; "),
    counted("{count:,} file", "{count:,} files", 3),
    plural(1, "rank"),
    said("hangs: {steps} steps were timed in {hung_s:.0f} s", steps=3, hung_s=1.25),
    said(", after {pairs}", pairs=plural(2, "pair")),
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_the_same_elsewhere(text: str) -> None:
    again = brought(json.loads(json.dumps(carried(text))))
    assert again == text
    assert [told(again, language) for language in ("en", "zh")] == [told(text, language) for language in ("en", "zh")]


def test_values_that_json_has_none_for_are_texts() -> None:
    assert brought(carried(said("{folder} is not empty", folder=Path("/a")))) == "/a is not empty"


@pytest.mark.parametrize("value", [None, 3, [], {}, {"pattern": 1, "values": {}}, {"pattern": "{a}", "values": {}}])
def test_what_is_no_text_is_said(value: object) -> None:
    with pytest.raises(ValueError, match="it is no text"):
        brought(value)
