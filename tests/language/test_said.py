"""Texts that remember what they were made of."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import asdict, dataclass

import pyarrow as pa
import pytest

from stepscope.language import Said, counted, listing, said, sentences, told
from stepscope.language.catalogue import Catalogue
from stepscope.language.po import read
from stepscope.language.recall import Patterns

CHINESE = Catalogue(
    read(
        """\
msgid "{calls:,} collectives carry {size}."
msgstr "{calls:,} 次集合通信传输 {size}。"

msgid "{count:,} step"
msgid_plural "{count:,} steps"
msgstr[0] "{count:,} 步"

msgid "{low} to {high}"
msgstr "{low} 到 {high}"

msgid "It takes {steps}."
msgstr "需要 {steps}。"

msgctxt "separator"
msgid " "
msgstr "∅"

msgctxt "separator"
msgid ", "
msgstr "、"

msgctxt "separator"
msgid " and "
msgstr "和"

msgctxt "wording: without steps"
msgid "每步 "
msgstr "∅"

msgid "{size} per step"
msgstr "每步 {size}"
"""
    )
)


def chinese(text: str) -> str:
    assert isinstance(text, Said)
    return text.in_words_of(CHINESE)


def test_it_is_the_english_text() -> None:
    text = said("{calls:,} collectives carry {size}.", calls=1234, size="5.00 MiB")
    assert text == "1,234 collectives carry 5.00 MiB."
    assert (len(text), hash(text), json.dumps(text)) == (33, hash(str(text)), '"1,234 collectives carry 5.00 MiB."')
    assert pa.array([text]).to_pylist() == [str(text)]
    assert type(str(text)) is str


def test_it_is_told_by_the_pattern_with_its_formats() -> None:
    assert (
        chinese(said("{calls:,} collectives carry {size}.", calls=1234, size="5.00 MiB"))
        == "1,234 次集合通信传输 5.00 MiB。"
    )


def test_names_in_a_row_are_joined_in_the_language() -> None:
    assert chinese(listing(("read", "open"), " and ")) == "read和open"
    assert chinese(listing(("read", "write", "open"), last=" and ")) == "read、write和open"
    assert (listing(("read", ""), " and "), listing(())) == ("read", "")


def test_parts_are_told_as_the_catalogue_has_them_but_names() -> None:
    size = said("{size} per step", size="1 GiB")
    assert chinese(sentences((size, "{size} per step"), ", ")) == "每步 1 GiB、每步 {size}"
    assert chinese(sentences((size, "and"), ", ")) == "每步 1 GiB、and"


@pytest.mark.parametrize(("number", "english", "other"), [(1, "1 step", "1 步"), (1000, "1,000 steps", "1,000 步")])
def test_the_count_decides_between_forms(number: int, english: str, other: str) -> None:
    text = counted("{count:,} step", "{count:,} steps", count=number)
    assert (text, chinese(text)) == (english, other)


def test_values_that_were_said_are_told_too() -> None:
    text = said("It takes {steps}.", steps=counted("{count:,} step", "{count:,} steps", count=2))
    assert (text, chinese(text)) == ("It takes 2 steps.", "需要 2 步。")


def test_what_has_no_translation_stays_english() -> None:
    assert chinese(said("{name} is new", name="x")) == "x is new"


def test_texts_are_put_together() -> None:
    one = said("It takes {steps}.", steps="4")
    assert sentences((one, "", "gemm")) == "It takes 4. gemm"
    assert chinese(sentences((one, "", one))) == "需要 4。需要 4。"
    assert listing(("a", "b", "c"), last=" and ") == "a, b and c"
    assert chinese(listing((said("a"), "b", "c"), last=" and ")) == "a、b和c"
    assert chinese("so: " + one + "!") == "so: 需要 4。!"
    assert "so: " + one + "!" == "so: It takes 4.!"
    assert sentences(("a", "b")) == "a b"


def test_values_are_changed_without_losing_the_pattern() -> None:
    inner = said("It takes {steps}.", steps="\x1b")
    text = sentences((said("It takes {steps}.", steps=inner), "\x1b")).each(lambda text: text.replace("\x1b", "?"))  # type: ignore[attr-defined]
    assert (text, chinese(text)) == ("It takes It takes ?.. ?", "需要 需要 ?。。?")


def test_it_is_reworded_in_both_languages() -> None:
    text = said("{size} per step", size="3 MiB")
    without = text.reworded("without steps", text.removesuffix(" per step"))
    assert (without, chinese(without)) == ("3 MiB", "3 MiB")
    assert text.reworded("without steps", text) is text
    assert said("a {x}", x=1).capitalize() == "A 1"


@dataclass(frozen=True)
class Holding:
    text: str


@pytest.mark.parametrize(
    "text",
    [
        said("It takes {steps}.", steps=counted("{count:,} step", "{count:,} steps", count=2)),
        sentences((said("It takes {steps}.", steps=3), "gemm")),
        said("{size} per step", size="3").reworded("without steps", "3"),
    ],
)
def test_copies_and_other_processes_lose_nothing(text: str) -> None:
    for same in (pickle.loads(pickle.dumps(text)), copy.deepcopy(text), copy.copy(text), asdict(Holding(text))["text"]):
        assert (same, chinese(same)) == (text, chinese(text))


def test_texts_come_back_from_files_by_the_pattern_that_fits_closest() -> None:
    known = Patterns(
        [
            ("{name} was left out of it all: {what}", ""),
            ("{name} was left out: {count:,} events are lost", ""),
            ("{count:,} step was cut by the end", "{count:,} steps were cut by the end"),
            ("{name} of it is", ""),
            ("it ended early", ""),
        ]
    )
    text = known.recalled("rank 3 was left out: 1,200 events are lost")
    assert isinstance(text, Said)
    assert text.pattern == "{name} was left out: {count:,} events are lost"
    assert text.values == {"name": "rank 3", "count": "1,200"}
    assert text == "rank 3 was left out: 1,200 events are lost"
    several = known.recalled("12 steps were cut by the end")
    assert isinstance(several, Said)
    assert several.many == "{count:,} steps were cut by the end"
    inside = known.recalled("a was left out of it all: it ended early")
    assert isinstance(inside, Said)
    assert inside.values["what"].pattern == "it ended early"


@pytest.mark.parametrize(
    "text",
    [
        "it ended early; its lengths are not known",
        "it ended early; Kernel(int; float)",
        "no shapes, no stacks and no memory",
    ],
)
def test_sentences_and_phrases_are_recalled_one_by_one(text: str) -> None:
    constants = ("it ended early", "its lengths are not known", "no shapes", "no stacks", "no memory")
    found = Patterns((one, "") for one in constants).recalled(text)
    assert isinstance(found, Said)
    assert found == text


def test_numbers_that_were_recalled_keep_their_format_when_values_are_changed() -> None:
    known = Patterns([("the chip has {cores:,} AI cores at {clock:,.0f} MHz ({device})", "")])
    text = known.recalled("the chip has 24 AI cores at 1,800 MHz (device \x1b)")
    assert isinstance(text, Said)
    changed = text.each(lambda value: value.replace("\x1b", "?"))
    assert changed == "the chip has 24 AI cores at 1,800 MHz (device ?)"
    assert type(changed.values["clock"]) is type(text.values["clock"])


def test_a_range_in_the_place_of_a_number_is_told() -> None:
    pattern = "{calls:,} collectives carry {size}."
    text = Patterns([(pattern, "")]).recalled("19 to 2,000 collectives carry 1.5 to 3 GiB.")
    assert isinstance(text, Said)
    for same in (text, text.each(str), pickle.loads(pickle.dumps(text))):
        assert (same, chinese(same)) == (text, "19 到 2,000 次集合通信传输 1.5 到 3 GiB。")


def test_a_value_may_be_empty_and_much_of_a_text() -> None:
    known = Patterns([("{calls}core types are missing", ""), ("the chip has {cores} (device {device})", "")])
    assert isinstance(known.recalled("core types are missing"), Said)
    told = known.recalled("the chip has 24 AI cores at 1,800 MHz, from the counters of 144 kernels (device 0 to 1)")
    assert isinstance(told, Said)


@pytest.mark.parametrize("text", ["f(int; float)", "no shapes, no clocks and no memory"])
def test_parts_that_nobody_said_leave_the_whole_as_it_is(text: str) -> None:
    assert type(Patterns([("no shapes", ""), ("no memory", "")]).recalled(text)) is str


@pytest.mark.parametrize("text", ["gemm_kernel", "What somebody else wrote of it is no such text", "a of it is"])
def test_what_was_not_said_is_not_recalled(text: str) -> None:
    assert type(Patterns([("{name} of it is", ""), ("it ended early", "")]).recalled(text)) is str


def test_english_is_what_the_code_says() -> None:
    assert told(said("It takes {steps}.", steps=3), "en") == "It takes 3."
    assert type(told(said("x"), "en")) is str
