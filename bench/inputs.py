"""The traces that are measured on, made once and kept in `bench/out`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.repeat import repeat

OUT: Final = Path(__file__).parent / "out"
_SHARED: Final = Path(__file__).resolve().parents[2] / "shared" / "traces" / "kineto"


def simulated(megabytes: int, recording: str = "kineto", preset: str = "transformer") -> Path:
    """A simulated recording of a training job, of about this size."""
    endings = {"kineto": "json", "nsight": "sqlite", "memsnapshot": "pickle"}
    name = "simulated" if recording == "kineto" else recording
    path = OUT / f"{name}-{megabytes}.{endings[recording]}"
    if not path.exists():
        OUT.mkdir(exist_ok=True)
        options = {"preset": preset, "format": recording, "size-mb": megabytes, "out": path}
        command = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        subprocess.run([sys.executable, "-m", "stepscope", "simulate", *command], check=True, stdout=subprocess.DEVNULL)
    return path


def small() -> Path | None:
    """A real recording of 75,000 events; None without the shared recordings."""
    source = _SHARED / "a100_diff_control" / "trace.json.gz"
    return source if source.exists() else None


def real(megabytes: int) -> Path | None:
    """A real A100 trace of a recommendation model repeated to this size; None without the shared recordings."""
    return _repeated("real", small(), megabytes)


def stacks(megabytes: int) -> Path | None:
    """A real H100 trace of a language model, with Python stacks, repeated to this size; None without it."""
    source = _SHARED / "h100_qwen05b_infer" / "trace.json.gz"
    return _repeated("stacks", source if source.exists() else None, megabytes)


def _repeated(name: str, source: Path | None, megabytes: int) -> Path | None:
    path = OUT / f"{name}-{megabytes}.json"
    if source is not None and not path.exists():
        OUT.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        repeat(source, part, megabytes * 10**6)
        part.replace(path)
    return path if path.exists() else None
