"""Programs that are given as a Python file or as a command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stepscope.cli.recording.starting import command_of


def test_a_python_file_is_run_by_this_python_unless_it_names_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("train.py")
    file.write_text("pass\n")
    file.chmod(0o755)
    assert command_of(["train.py", "a"]) == [sys.executable, "train.py", "a"]
    file.write_text("#!/usr/bin/env python3\n")
    assert command_of(["train.py", "a"]) == ["./train.py", "a"]
    file.chmod(0o644)
    assert command_of(["train.py"]) == [sys.executable, "train.py"]
    assert command_of(["torchrun", "train.py"]) == ["torchrun", "train.py"]
