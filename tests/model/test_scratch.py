"""Temporary folders: private, removed at the end, and by the next process if theirs was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stepscope.model.process import scratch
from stepscope.model.process.scratch import remove_scratch, scratch_folder

CODE = "from stepscope.model.process.scratch import scratch_folder\nprint(scratch_folder(), flush=True)\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def test_a_folder_is_private_and_removed(place: Path) -> None:
    folder = scratch_folder()
    (folder / "data").write_text("x")
    assert folder.parent == place
    assert folder.stat().st_mode & 0o077 == 0
    remove_scratch(folder)
    assert list(place.iterdir()) == []


def test_what_a_process_leaves_at_its_end(place: Path) -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True)
    assert list(place.iterdir()) == []


def test_a_killed_process_is_cleared_up_after_and_a_living_one_is_not(place: Path) -> None:
    living = subprocess.Popen([sys.executable, "-c", CODE + "input()"], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert living.stdout is not None
    used = Path(living.stdout.readline().decode().strip())
    code = CODE + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    killed = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    left = Path(killed.stdout.strip())
    assert left.exists()
    first, second = scratch_folder(), scratch_folder()
    assert not left.exists()
    assert used.exists()
    assert first.exists()
    living.communicate(b"\n")
    for folder in (first, second):
        remove_scratch(folder)
    assert list(place.iterdir()) == []


def test_what_others_call_so_is_left_alone(place: Path) -> None:
    (place / "stepscope-1234").mkdir()
    (place / "stepscope-checkout").mkdir()
    (place / "stepscope-checkout" / "README.md").write_text("")
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "lock").write_text("")
    (place / "stepscope-aaaaaaaa").symlink_to(place / "elsewhere")
    remove_scratch(scratch_folder())
    names = ["elsewhere", "stepscope-1234", "stepscope-aaaaaaaa", "stepscope-checkout"]
    assert sorted(path.name for path in place.iterdir()) == names


def test_an_empty_folder_without_a_lock_is_of_a_process_that_was_killed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "stepscope-abcdefgh").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: -1)  # somebody else's
    remove_scratch(scratch_folder())
    assert (place / "stepscope-abcdefgh").exists()
    monkeypatch.undo()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    remove_scratch(scratch_folder())
    assert list(place.iterdir()) == []


def test_a_folder_that_vanishes_while_it_is_made_is_made_anew(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process takes it for the leftover of one that was killed."""
    make, made = tempfile.mkdtemp, []

    def vanishing(prefix: str) -> str:
        made.append(make(prefix=prefix))
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", vanishing)
    folder = scratch_folder()
    assert str(folder) == made[1]
    remove_scratch(folder)


def test_where_there_are_no_locks_nothing_is_taken_from_anybody(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> bool:
        raise OSError("no locks available")

    monkeypatch.setattr(scratch, "lock", unknown)
    first = scratch_folder()
    (place / "stepscope-bbbbbbbb").mkdir()
    (place / "stepscope-bbbbbbbb" / "lock").write_text("")
    remove_scratch(scratch_folder())
    assert (place / "stepscope-bbbbbbbb").exists()
    remove_scratch(first)
    assert not first.exists()


_MAKES_AND_LEAVES = """
import sys, threading, time
from pathlib import Path
from stepscope.model.process.leaving import leave, made_to_go

folder, is_there = Path(sys.argv[1]), threading.Event()

def make():
    folder.mkdir()
    is_there.set()
    time.sleep(0.2)
    return folder

threading.Thread(target=made_to_go, args=(make,), daemon=True).start()
is_there.wait()
leave(3, "")
"""


def test_a_folder_goes_with_a_process_that_leaves_while_it_is_made(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _MAKES_AND_LEAVES, str(tmp_path / "folder")], check=False)
    assert done.returncode == 3
    assert list(tmp_path.iterdir()) == []
