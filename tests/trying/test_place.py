"""Where in the program's own files something is done."""

from __future__ import annotations

from pathlib import Path

from stepscope.trying.job.place import place_of_caller


def test_a_program_in_a_folder_of_this_name_is_a_program(tmp_path: Path) -> None:
    for folder in ("stepscope", "other"):
        file = tmp_path / folder / "train.py"
        found: list[tuple[str, int]] = []
        exec(compile("\nfound.append(place())", str(file), "exec"), {"found": found, "place": place_of_caller})
        assert found == [(str(file), 2)]
    assert place_of_caller()[0] == __file__
