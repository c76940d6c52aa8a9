"""Other tools, each installed from PyPI into an environment of its own under `bench/out`."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

from bench.inputs import OUT


def environment(name: str, package: str) -> Path:
    """The folder of programs of an environment that has a package; made where it is missing."""
    home = OUT / name
    installed = home / "installed"
    if not installed.exists():
        OUT.mkdir(exist_ok=True)
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", package], check=True)
        installed.touch()
    return home / "bin"
