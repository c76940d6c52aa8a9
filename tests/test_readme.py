"""The README followed line by line, by somebody who has nothing but a checkout and a recording.

stepscope is built and installed from a copy of the checkout into a new environment, as `pip install .` does, with an
empty home and no settings. What it depends on is taken from the environment of the tests, not downloaded again; the
build asks the package index for its backend alone. Where there is no index, a link to the sources takes the place of
the build, and the test of the build is skipped.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from series import WHOLE
from stepscope.cli.main import run
from stepscope.simulate import PRESETS, simulate
from stepscope.simulate.settings import with_settings

ROOT: Final = Path(__file__).parent.parent
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
#: Without what a command prints.
TEXT: Final = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
COMMANDS: Final = re.findall(r"^    (stepscope .*)$", TEXT, re.MULTILINE)
#: From here on commands make the recordings that they read.
SIMULATED: Final = next(i for i, command in enumerate(COMMANDS) if command.startswith("stepscope simulate"))
PYTHON: Final = re.findall(r"^    import stepscope\n(?:\n|    .*\n)+", TEXT, re.MULTILINE)
#: What the README hands a result to.
STUBS: Final = {"flamegraph.pl": "exec cat"}
#: What an installation needs of a checkout.
SOURCES: Final = ("src", "docs", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile")
#: Nothing that the README says takes longer, on a machine that does other things too.
LIMIT_SECONDS: Final = 240

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the README is followed in a shell of Unix")


@dataclass(frozen=True, slots=True)
class Place:
    """A new environment with the files that the README speaks of.

    Attributes:
        folder: Where commands are run; `checkout` in it is a copy of the checkout.
        refusal: Why stepscope could not be built; empty if it is installed as a user would have it.
    """

    folder: Path
    refusal: str

    def run(self, command: str, folder: str = "") -> subprocess.CompletedProcess[str]:
        """Run a line of the README in a shell that knows of nothing."""
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder / folder,
            env={"PATH": f"{self.folder / 'env' / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder / "home")},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("readme")
    (folder / "home").mkdir()
    checkout = folder / "checkout"
    checkout.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, checkout / name)
    venv.create(folder / "env", with_pip=False, symlinks=True)
    refusal = installed(folder / "env", checkout)
    for name, text in STUBS.items():
        (folder / "env" / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / "env" / "bin" / name).chmod(0o755)
    simulate(with_settings(PRESETS["tiny"], ["steps=13"]), folder / "trace.json.gz")
    simulate(with_settings(PRESETS["tiny"], ["steps=13", "ranks=2"]), folder / "runs" / "epoch3")
    simulate(with_settings(PRESETS["tiny"], ["steps=13", "ranks=2", "seed=4"]), folder / "runs" / "epoch4")
    return Place(folder, refusal)


def installed(environment: Path, checkout: Path) -> str:
    """Install a checkout into an environment; returns why that could not be done, and has it linked then."""
    python = environment / "bin" / "python"
    [packages] = (environment / "lib").glob("python*/site-packages")
    # A line names a folder, whose own links, such as one to the sources of stepscope, are not followed.
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "libraries.pth").write_text("\n".join(sorted(libraries)) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(checkout)],
        capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS,
    )  # fmt: skip
    if done.returncode == 0:
        return ""
    said = done.stderr + done.stdout
    offline = ("Could not find a version", "Temporary failure", "Connection", "ConnectTimeout", "No module named pip")
    assert any(words in said for words in offline), said  # anything else is wrong with the project
    (packages / "aaa_stepscope.pth").write_text(f"{checkout / 'src'}\n")
    (environment / "bin" / "stepscope").write_text(f"#!/bin/sh\nexec '{python}' -m stepscope \"$@\"\n")
    (environment / "bin" / "stepscope").chmod(0o755)
    return said.strip().splitlines()[-1]


def test_the_readme_has_commands_and_a_program() -> None:
    assert len(COMMANDS) > 8
    assert len(PYTHON) == 1


def test_it_is_installed_as_the_readme_says(place: Place) -> None:
    assert "`pip install .`" in README
    if place.refusal:
        pytest.skip(f"there is no package index: {place.refusal}")
    done = place.run("python -c 'import stepscope; print(stepscope.__file__)'")
    assert Path(done.stdout.strip()).is_relative_to(place.folder / "env"), done.stderr
    version = place.run("stepscope --version")
    assert re.fullmatch(r"stepscope \d+\.\d+\.\d+\n", version.stdout), version.stderr


def test_the_demo_is_what_the_readme_shows(place: Place) -> None:
    # The target, but for the installation: that is the one that is there.
    assert "    make demo " in README
    (place.folder / "checkout" / ".venv").symlink_to(place.folder / "env")
    (place.folder / "env" / ".installed").touch()
    done = place.run("COLUMNS=100 make demo", "checkout")
    assert done.returncode == 0, done.stderr
    assert (place.folder / "checkout" / ".venv" / "bin" / "stepscope").exists()
    [shown] = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    assert shown in done.stdout


def test_the_commands_do_what_they_are_there_for(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands that need no shell, in this process."""
    monkeypatch.chdir(place.folder)
    monkeypatch.setenv("STEPSCOPE_CACHE", str(place.folder / "cache"))
    for command in COMMANDS[:SIMULATED]:
        if "|" in command:
            check(place, command, place.run(command))
        else:
            words = shlex.split(command, comments=True)
            status = run(words[1:])
            check(place, command, subprocess.CompletedProcess(words, status, *capsys.readouterr()))


@pytest.mark.series
@pytest.mark.skipif(not WHOLE, reason="more of the same; `make series` runs it")
def test_all_commands_in_a_shell(place: Place) -> None:
    # One test, since a command works on what those before it wrote: workers would share them out.
    for command in COMMANDS:
        check(place, command, place.run(command))


def check(place: Place, command: str, done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), f"{command}\n{done.stderr}"
    assert done.stdout or "wrote " in done.stderr or ">" in command, command
    assert "(0 rows)" not in done.stdout, command
    for name in re.findall(r"(?:-o|--json|--html|--xlsx|--markdown|>) (\S+\.\w+)", command):
        assert (place.folder / name).stat().st_size > 0, command


def test_the_program_runs(place: Place) -> None:
    pytest.importorskip("pandas")
    code = "\n".join(line.removeprefix("    ") for line in PYTHON[0].splitlines())
    (place.folder / "program.py").write_text(code)
    done = place.run("python program.py")
    assert done.returncode == 0, done.stderr
