"""Observations of health that were made once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stepscope.reports.once import of_one, once
from stepscope.reports.sections.health import _is_counted

SOURCE = Path(__file__).resolve().parents[2] / "src" / "stepscope"


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("steps are cut by the recording's start or end", "1 step is cut by the recording's start or end"),
        ("launches (4 %) have no device activity", "1 launch (4 %) has no device activity"),
        (
            "device activities start before their launch, by up to 3 µs",
            "1 device activity starts before its launch, by up to 3 µs",
        ),
        ("blocks in use are older than the history", "1 block in use is older than the history"),
        (
            "blocks are older than the history and were freed during it",
            "1 block is older than the history and was freed during it",
        ),
        ("no steps are marked", None),
        ("the recording ends in the middle", None),
    ],
)
def test_messages_of_many_tell_of_one(many: str, one: str | None) -> None:
    assert once(many) == one


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("they are missing from every number", "it is missing from every number"),
        ("their bounds are approximate; call prof.step()", "its bounds are approximate; call prof.step()"),
        ("they belong to no step, but count in numbers", "it belongs to no step, but counts in numbers"),
        ("what they ended began before", "what they ended began before"),
    ],
)
def test_so_do_their_effects(many: str, one: str) -> None:
    assert of_one(many) == one


def counted_messages() -> list[str]:
    """Texts of all observations in the source that a number stands before."""
    found = []
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "observe(" not in text and "Observation(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or len(node.args) != 5:
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            number, message = node.args[2:4]
            if called not in ("observe", "Observation") or isinstance(number, ast.Constant):
                continue
            first = message.values[0] if isinstance(message, ast.JoinedStr) else message
            if isinstance(first, ast.Constant) and _is_counted(str(first.value)):
                found.append(str(first.value))
    return found


def test_all_of_the_source_can_be_told_of_one() -> None:
    messages = [one for one in counted_messages() if not one.startswith(("what ", "it "))]
    assert len(messages) > 30
    assert [one for one in messages if once(one) is None] == []
