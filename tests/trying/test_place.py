"""Where a process of a run is: in the program's files, and on how many cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.record.machine.files import Roots
from stepscope.trying.job.entering import _cores
from stepscope.trying.job.place import place_of_caller


def test_a_program_in_a_folder_of_this_name_is_a_program(tmp_path: Path) -> None:
    for folder in ("stepscope", "other"):
        file = tmp_path / folder / "train.py"
        found: list[tuple[str, int]] = []
        exec(compile("\nfound.append(place())", str(file), "exec"), {"found": found, "place": place_of_caller})
        assert found == [(str(file), 2)]
    assert place_of_caller()[0] == __file__


@pytest.mark.parametrize(("given", "cores"), [("150000 100000", 2), ("max 100000", 64), ("6400000 50000", 64)])
def test_cores_are_no_more_than_the_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, cores: int
) -> None:
    group = tmp_path / "fs" / "cgroup"
    group.mkdir(parents=True)
    (group / "cpu.max").write_text(given)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert _cores(Roots(sys=str(tmp_path))) == cores
