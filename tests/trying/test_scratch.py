"""What a run may not change: files of the working folder, and files elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.trying import mirror as mirrors
from stepscope.trying.mirror import mirror
from stepscope.trying.restoring import restore


def test_a_mirror_looks_like_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrors, "COPIED_BYTES", 10)
    working, data = tmp_path / "project", tmp_path / "data"
    (working / "sub").mkdir(parents=True)
    data.mkdir()
    (data / "x").write_text("x")
    (working / "train.py").write_text("small")
    (working / "sub" / "large.dat").write_text("more than ten bytes")
    (working / "model.pt").write_text("a checkpoint of any size")
    (working / "to_data").symlink_to("../data")
    out = working / "out"
    made = mirror(working, out / "root", out)
    assert (made.folder / "train.py").read_text() == "small"
    assert not (made.folder / "model.pt").is_symlink()
    assert (made.folder / "sub" / "large.dat").is_symlink()
    assert (made.folder / "to_data" / "x").read_text() == "x"
    assert (made.folder / ".." / "data" / "x").read_text() == "x"
    assert not (made.folder / "out").exists()
    (made.folder / "train.py").write_text("other")
    (made.folder / "sub" / "new").touch()
    assert (working / "train.py").read_text() == "small"
    assert [one.name for one in (working / "sub").iterdir()] == ["large.dat"]


def test_folders_of_many_files_are_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrors, "FOLDER_ENTRIES", 3)
    working = tmp_path / "w"
    (working / "many").mkdir(parents=True)
    for i in range(4):
        (working / "many" / str(i)).touch()
    made = mirror(working, tmp_path / "root", tmp_path / "root")
    assert ((made.folder / "many").is_symlink(), made.linked) == (True, 1)


GUARDED = """
import os, sys, time
from pathlib import Path
from stepscope.trying.job.guard import FileGuard
here = Path(sys.argv[1])
FileGuard(str(here / "scratch"), str(here / "kept"), time.time_ns()).install()
outside = here / "outside"
(outside / "written").write_text("new")
with open(outside / "appended", "a") as file:
    file.write(" and more")
os.replace(outside / "renamed", outside / "elsewhere")
(outside / "removed").unlink()
(outside / "folder").mkdir()
(outside / "folder" / "made").write_text("made")
(here / "scratch" / "own").write_text("own")
(outside / "read").read_text()
"""


def test_files_elsewhere_are_put_back(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    for folder in ("scratch", "kept", "outside"):
        (tmp_path / folder).mkdir()
    names = ("written", "appended", "renamed", "removed", "read")
    for name in names:
        (outside / name).write_text(name)
        os.utime(outside / name, (1, 1))
    before = {name: (outside / name).stat().st_mtime_ns for name in names}
    subprocess.run([sys.executable, "-c", GUARDED, str(tmp_path)], check=True)
    assert (outside / "written").read_text() == "new"
    found = restore(tmp_path / "kept")
    assert {name: (outside / name).read_text() for name in names} == {name: name for name in names}
    assert {name: (outside / name).stat().st_mtime_ns for name in names} == before
    assert sorted(one.name for one in outside.iterdir()) == sorted(names)
    assert (tmp_path / "scratch" / "own").exists()
    assert len(found.back) == 4
    assert sorted(Path(one).name for one in found.removed) == ["elsewhere", "made"]
    assert not found.lost


def test_what_can_not_be_put_back_is_said(tmp_path: Path) -> None:
    (tmp_path / "kept.jsonl").write_text(json.dumps({"kept": str(tmp_path / "a"), "copy": "gone"}) + "\nbroken\n")
    assert len(restore(tmp_path).lost) == 1
