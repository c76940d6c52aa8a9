"""Code that is wider than a terminal goes on in the next line, where that means the same."""

from __future__ import annotations

import ast

import pytest
from rich.cells import cell_len

from stepscope.reports.lines.code import code_lines

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
