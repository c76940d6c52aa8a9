from __future__ import annotations

import io
from pathlib import Path

import pytest

from stepscope.cli import opening


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("seconds", "shown"), [(0.5, False), (3.0, True)])
def test_a_bar_is_shown_once_the_work_has_taken_two_seconds(
    monkeypatch: pytest.MonkeyPatch, seconds: float, shown: bool
) -> None:
    out = Terminal()
    clock = iter([100.0, 100.0 + seconds, 100.0 + seconds, 100.0 + seconds])
    monkeypatch.setattr(opening.sys, "stderr", out)
    monkeypatch.setattr(opening, "monotonic", lambda: next(clock))
    monkeypatch.setenv("TERM", "xterm")
    with opening.progress("reading") as report:
        report("trace\x1b[31m [red].json", 1, 2)
    text = out.getvalue()
    assert ("reading trace\\x1b[31m [red].json" in text.replace("\n", "")) is shown
    assert bool(text) is shown


def test_looking_through_files_has_no_end_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    clock = iter([100.0, 103.0, 103.0, 103.0])
    monkeypatch.setattr(opening.sys, "stderr", out)
    monkeypatch.setattr(opening, "monotonic", lambda: next(clock))
    monkeypatch.setenv("TERM", "xterm")
    with opening.progress("reading") as report:
        opening._looking(report)(Path("data") / "labels.json", 12)
    text = out.getvalue().replace("\n", "")
    assert "looking through data/labels.json" in text
    assert "%" not in text


def test_nothing_is_shown_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(opening.sys, "stderr", out)
    with opening.progress("reading") as report:
        report("trace.json", 1, 2)
    assert out.getvalue() == ""
