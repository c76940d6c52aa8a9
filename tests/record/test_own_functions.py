"""What the recorder runs within a program's processes is known as its own, and left out of what is diagnosed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stepscope.readers.kineto.vocabulary import is_ours

RECORD = Path(__file__).resolve().parents[2] / "src" / "stepscope" / "record"
#: Folders whose code runs there.
INSIDE = ("inject", "job", "ring", "steps", "triggers")


def imported() -> set[str]:
    """Modules of `record` that this code imports."""
    found = set()
    for path in (one for folder in INSIDE for one in (RECORD / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stepscope.record."):
                found.add(str(node.module))
    return found


def test_every_module_that_runs_in_a_job_is_the_recorders_own() -> None:
    modules = imported()
    assert "stepscope.record.noted" in modules
    others = [one for one in modules if not is_ours("python_function", f"/lib/{one.replace('.', '/')}.py(40): as_json")
              and not (RECORD.parents[1] / one.replace(".", "/")).is_dir()]  # fmt: skip
    assert others == []


@pytest.mark.parametrize("name", ["my/noted.py(3): f", "train.py(1): <module>", "stepscope/api.py(9): analyze"])
def test_functions_of_the_program_are_not(name: str) -> None:
    assert not is_ours("python_function", name)
