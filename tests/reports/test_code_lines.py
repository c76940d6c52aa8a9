"""Code that is wider than a terminal goes on in the next line, where that means the same."""

from __future__ import annotations

import ast
import shlex

import pytest
from rich.cells import cell_len

from stepscope.reports.blocks import Item
from stepscope.reports.lines.code import code_lines, command_lines
from stepscope.reports.lines.item import item_lines

LOADER = "DataLoader(dataset, num_workers=2 * n, prefetch_factor=4, persistent_workers=True)"


@pytest.mark.parametrize(
    ("line", "width", "lines"),
    [
        (LOADER, 82, [LOADER]),
        (
            LOADER,
            81,
            ["DataLoader(dataset, num_workers=2 * n, prefetch_factor=4,", "           persistent_workers=True)"],
        ),
        # Below the innermost bracket that is open; where little room is left there, by four.
        (
            "f(a, g(b=1, cc=22222222222222222, d=3333333))",
            40,
            ["f(a, g(b=1, cc=22222222222222222,", "       d=3333333))"],
        ),
        (
            "    run_with_a_long_name(first, second, third)",
            40,
            ["    run_with_a_long_name(first, second,", "        third)"],
        ),
        # A comma outside of brackets, in a text or in a comment, or none.
        ("a, b = one_thing_here, another_thing", 20, ["a, b = one_thing_he…"]),
        ("print('one, two, three, four, five')", 20, ["print('one, two, th…"]),
        ("x = 1  # (one, two, three, four)", 20, ["x = 1  # (one, two,…"]),
        ("export A_LONG_NAME=a_long_value", 20, ["export A_LONG_NAME=…"]),
    ],
)  # fmt: skip
def test_lines_of_code(line: str, width: int, lines: list[str]) -> None:
    assert code_lines(line, width) == lines


@pytest.mark.parametrize("width", range(40, 84))
def test_it_is_the_same_code_at_every_width(width: int) -> None:
    lines = code_lines(LOADER, width)
    assert max(map(cell_len, lines)) <= width
    assert ast.dump(ast.parse("\n".join(lines))) == ast.dump(ast.parse(LOADER))


COMMAND = "ncu --set full --kernel-name 'regex:^a kernel of some length$' --launch-skip 3 --launch-count 1 python x.py"

#: Width of a line with the command and what it is for.
FITS = 4 + len("look inside: ") + len(COMMAND)


@pytest.mark.parametrize("width", [44, 60, 80, 120])
def test_a_command_goes_on_between_its_words(width: int) -> None:
    lines = command_lines(COMMAND, width)
    assert [line for line in lines if cell_len(line) > width] == []
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(COMMAND)


def test_a_word_that_is_longer_than_a_line_has_one_of_its_own() -> None:
    pattern = f"regex:^{'k' * 90}$"
    assert command_lines(f"ncu -k {pattern} python", 40) == ["ncu -k \\", f"{pattern} \\", "python"]


@pytest.mark.parametrize(("width", "lines"), [(48, 5), (FITS - 1, 2), (FITS, 1)])
def test_commands_stand_beside_what_they_are_for_if_they_fit(width: int, lines: int) -> None:
    item = Item(1, "KRN001", "a title", "5 %", "a text", inspect=COMMAND)
    texts = [line.plain for line in item_lines(item, width, ascii_only=True)]
    [at] = [number for number, text in enumerate(texts) if "look inside:" in text]
    assert texts[at : at + lines][-1].endswith("x.py")
