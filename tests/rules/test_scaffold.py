from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.model.errors import UserError
from stepscope.rules.registry import all_rules
from stepscope.rules.scaffold import scaffold


def test_what_is_written_passes_its_own_tests(tmp_path: Path) -> None:
    rule, test = scaffold("slow_thing", "host", tmp_path)
    assert (rule.name, test.name) == ("slow_thing.py", "test_slow_thing.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(tmp_path), "PATH": ""},
    )  # fmt: skip
    assert "3 passed" in done.stdout, done.stdout + done.stderr


def test_its_code_is_free(tmp_path: Path) -> None:
    rule, _ = scaffold("slow-thing", "data", tmp_path)
    taken = set(all_rules())
    assert not any(f'"{code}"' in rule.read_text() for code in taken)


@pytest.mark.parametrize(("name", "family"), [("Slow Thing", "host"), ("slow", "nonsense"), ("../x", "host")])
def test_names_that_can_not_be_are_refused(tmp_path: Path, name: str, family: str) -> None:
    with pytest.raises(UserError):
        scaffold(name, family, tmp_path)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    scaffold("slow-thing", "host", tmp_path)
    with pytest.raises(UserError, match="is there already"):
        scaffold("slow-thing", "host", tmp_path)
