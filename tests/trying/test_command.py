"""What `stepscope try` takes from its arguments, and how it starts the program."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from stepscope.cli.trying.behind import own_options


def test_options_behind_a_program_that_does_not_name_them_are_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "train.py"
    program.write_text("parser.add_argument('--minutes')\n")
    line = [str(program), "--lr", "1", "--json", "out.json", "--minutes", "3", "--only=compile,tf32"]
    kept, found = own_options(line, ["stepscope", "try", *line])
    assert kept == [str(program), "--lr", "1", "--minutes", "3"]
    assert (found.json, found.minutes, found.only) == (Path("out.json"), 0.0, ["compile,tf32"])
    assert "--json out.json is taken as an option of stepscope's" in capsys.readouterr().err
    kept, found = own_options(line, ["stepscope", "try", "--", *line])
    assert (kept, found.json) == (line, None)
    launched = ["torchrun", str(program), "--json", "out.json"]
    assert own_options(launched, launched)[0] == launched


def test_an_option_without_a_value_is_said(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.touch()
    for wrong in (["--json"], ["--minutes", "soon"], ["--minutes", "nan"]):
        with pytest.raises(typer.BadParameter):
            own_options([str(program), *wrong], [])
