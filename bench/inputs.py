"""The traces that are measured on, made once and kept in `bench/out`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.repeat import repeat

OUT: Final = Path(__file__).parent / "out"
_SHARED: Final = Path(__file__).resolve().parents[2] / "shared" / "traces" / "kineto"


def simulated(megabytes: int) -> Path:
    """A simulated training trace of about this size."""
    path = OUT / f"simulated-{megabytes}.json"
    if not path.exists():
        OUT.mkdir(exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "stepscope",
            "simulate",
            "--preset",
            "transformer",
            "--size-mb",
            str(megabytes),
        ]
        subprocess.run([*command, "--out", str(path)], check=True, stdout=subprocess.DEVNULL)
    return path


def real(megabytes: int) -> Path | None:
    """A real A100 trace of a recommendation model repeated to this size; None without the shared recordings."""
    source = _SHARED / "a100_diff_control" / "trace.json.gz"
    if not source.exists():
        return None
    path = OUT / f"real-{megabytes}.json"
    if not path.exists():
        OUT.mkdir(exist_ok=True)
        repeat(source, path, megabytes * 10**6)
    return path
