"""Real programs do the same plain and recorded: compiled frames, graph breaks, output, what the profiler says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from record_support import HAS_TORCH, PROGRAMS, record

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")


def said(errors: str) -> list[str]:
    """Lines of standard error that are the program's, without times and numbers of processes."""
    lines = [line for line in errors.splitlines() if not line.startswith("stepscope: ")]
    return [re.sub(r"\d+", "0", line) for line in lines]


@pytest.mark.parametrize(
    ("arguments", "source"),
    [
        ([], "steps are calls of the model"),
        (["trains"], "steps are updates by the optimizer"),
        (["trains", "function"], "steps are updates by the optimizer"),
    ],
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
        "import sys, time, torch\none = torch.ones(50, 50)\nend = time.monotonic() + 2\n"
        "while time.monotonic() < end: one @ one; time.sleep(0.005)\n"
        "print('torch._dynamo' in sys.modules)\n"
    )
    recorded = record(tmp_path, str(program), options=["--patience", "1"])
    assert (recorded.status, recorded.output) == (0, "False\n")
    assert said(recorded.errors) == []
    assert "recorded a stretch of time" in recorded.errors
    assert not any(
        "stepscope" in event["name"] and "sleep" in event["name"] for event in recorded.trace()["traceEvents"]
    )


def run_alone(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`loops.py` without recording."""
    return subprocess.run(
        [sys.executable, str(PROGRAMS / "loops.py"), *arguments],
        capture_output=True, text=True, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
    )  # fmt: skip


def test_a_loader_that_another_thread_reads_ahead(tmp_path: Path) -> None:
    recorded = record(tmp_path, "loops.py", "background")
    alone = run_alone(tmp_path, "background")
    assert (recorded.status, recorded.output) == (alone.returncode, alone.stdout) == (0, alone.stdout)
    assert said(recorded.errors) == said(alone.stderr) == []
    assert "steps are updates by the optimizer" in recorded.errors
    bodies, marks = recorded.starts_of("body "), recorded.starts_of("ProfilerStep#")
    assert list(bodies) == list(marks) == [10, 11, 12, 13]


def test_processes_that_spawn_starts_are_recorded_and_the_one_that_waits_is_not(tmp_path: Path) -> None:
    recorded = record(tmp_path, "loops.py", "spawn")
    alone = run_alone(tmp_path, "spawn")
    assert (recorded.status, sorted(recorded.output.splitlines())) == (0, sorted(alone.stdout.splitlines()))
    assert said(recorded.errors) == said(alone.stderr)
    files = sorted(recorded.folder.glob("*.pt.trace.json"))
    assert len(files) == 2, recorded.errors
    assert recorded.errors.count("recorded steps 10 to 13 (steps are updates by the optimizer) of process ") == 2
    assert "stretch of time" not in recorded.errors


def test_a_step_that_a_crash_cuts_is_said_to_be_cut(tmp_path: Path) -> None:
    recorded = record(tmp_path, "loops.py", "crash")
    alone = run_alone(tmp_path, "crash")
    assert (recorded.status, recorded.output) == (alone.returncode, alone.stdout) == (1, "")
    assert said(recorded.errors) == said(alone.stderr)
    assert "recorded steps 10 to 11" in recorded.errors
    assert "the beginning of step 12" in recorded.errors
    assert recorded.trace()["stepscope_partial"] == "the program ended"


@pytest.mark.parametrize("level", ["0", "5"])
def test_the_programs_own_profiler_says_what_it_says_alone(level: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("KINETO_LOG_LEVEL", level)
    recorded = record(tmp_path, "loops.py", "profiles")
    alone = run_alone(tmp_path, "profiles", KINETO_LOG_LEVEL=level)
    assert (recorded.status, recorded.output) == (0, alone.stdout)
    # What is said about the recordings of the program is said; order and times differ from run to run.
    assert sorted(said(recorded.errors)) == sorted(said(alone.stderr))
    assert ("GenericActivityProfiler" in alone.stderr) == (level == "0")
    assert list(recorded.starts_of("ProfilerStep#")) == [10, 11, 12, 13]


def test_what_is_traced_is_what_torch_says() -> None:
    from torch._guards import TracingContext, tracing

    from stepscope.record.job.unseen import is_traced

    for context in (None, TracingContext(None)):
        with tracing(context):
            assert is_traced() == (TracingContext.try_get() is not None) == (context is not None)
