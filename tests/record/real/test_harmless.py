"""Real programs do the same plain and recorded: compiled frames, graph breaks, output, what the profiler says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from record_support import HAS_TORCH, PROGRAMS, record

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")


def said(errors: str) -> list[str]:
    """Lines of standard error that are the program's, without times and numbers of processes."""
    lines = [line for line in errors.splitlines() if not line.startswith("stepscope: ")]
    return [re.sub(r"\d+", "0", line) for line in lines]


@pytest.mark.parametrize(
    ("arguments", "source"), [([], "steps are calls of the model"), (["trains"], "steps are updates by the optimizer")]
)
def test_compiled_programs_do_the_same_as_alone(arguments: list[str], source: str, tmp_path: Path) -> None:
    alone = subprocess.run(
        [sys.executable, str(PROGRAMS / "compiled.py"), *arguments], capture_output=True, text=True, cwd=tmp_path
    )
    recorded = record(tmp_path, "compiled.py", *arguments)
    assert alone.returncode == recorded.status == 0, recorded.errors
    assert recorded.output == alone.stdout
    assert said(recorded.errors) == said(alone.stderr)
    assert source in recorded.errors
    assert list(recorded.starts_of("ProfilerStep#")) == [10, 11, 12, 13]


def test_a_stretch_of_a_program_that_ends_within_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import time, torch\none = torch.ones(50, 50)\nend = time.monotonic() + 2\n"
        "while time.monotonic() < end: one @ one; time.sleep(0.005)\nprint('done')\n"
    )
    recorded = record(tmp_path, str(program), options=["--patience", "1"])
    assert (recorded.status, recorded.output) == (0, "done\n")
    assert said(recorded.errors) == []
    assert "recorded a stretch of time" in recorded.errors
    assert not any(
        "stepscope" in event["name"] and "sleep" in event["name"] for event in recorded.trace()["traceEvents"]
    )
