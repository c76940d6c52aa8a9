"""The README's commands, one after the other, by somebody who has nothing but stepscope and a recording."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.simulate import PRESETS, simulate
from stepscope.simulate.settings import with_settings

#: Without what a command prints.
TEXT = re.sub(
    r"```.*?```", "", (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL
)
COMMANDS = re.findall(r"^    (stepscope .*)$", TEXT, re.MULTILINE)
PYTHON = re.findall(r"^    import stepscope\n(?:\n|    .*\n)+", TEXT, re.MULTILINE)
#: What the README hands a result to.
STUBS = {"flamegraph.pl": "exec cat"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the README speaks of, and `bin` with the commands that there are."""
    place = tmp_path_factory.mktemp("readme")
    simulate(with_settings(PRESETS["tiny"], ["steps=13"]), place / "trace.json.gz")
    simulate(with_settings(PRESETS["tiny"], ["steps=13", "ranks=2"]), place / "runs" / "epoch3")
    (place / "bin").mkdir()
    (place / "home").mkdir()
    scripts = {"stepscope": f"exec '{sys.executable}' -m stepscope \"$@\"", **STUBS}
    for name, text in scripts.items():
        (place / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (place / "bin" / name).chmod(0o755)
    return place


def bare(place: Path) -> dict[str, str]:
    """An environment as in a new container: no terminal, no settings, an empty home."""
    # Where tests run from sources, these are found as an installed package would be.
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return {**kept, "PATH": f"{place / 'bin'}:/usr/bin:/bin", "HOME": str(place / "home")}


def test_there_are_commands_and_a_program() -> None:
    assert len(COMMANDS) > 8
    assert len(PYTHON) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the README is followed in a shell of Unix")
def test_the_commands_do_what_they_are_there_for(place: Path) -> None:
    # One test, since a command works on what those before it wrote: workers would share them out.
    for command in COMMANDS:
        follow(place, command)


def follow(place: Path, command: str) -> None:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=place,
        env=bare(place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout or "wrote " in done.stderr or ">" in command
    assert "(0 rows)" not in done.stdout
    for name in re.findall(r"(?:-o|--json|--html|--xlsx|--markdown|>) (\S+\.\w+)", command):
        assert (place / name).stat().st_size > 0


def test_the_program_runs(place: Path) -> None:
    pytest.importorskip("pandas")
    code = "\n".join(line.removeprefix("    ") for line in PYTHON[0].splitlines())
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, env=bare(place), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
