"""Run `stepscope record` on real programs, and read what it wrote."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HAS_TORCH = importlib.util.find_spec("torch") is not None
PROGRAMS = Path(__file__).parent / "record" / "real" / "programs"
SOURCES = Path(__file__).resolve().parents[1] / "src"


def unload() -> None:
    """Have torch and torch_npu imported anew."""
    for name in [one for one in sys.modules if one.split(".")[0] in ("torch", "torch_npu")]:
        del sys.modules[name]


@dataclass
class Recorded:
    """What a recorded program left."""

    status: int
    output: str
    errors: str
    folder: Path

    @property
    def files(self) -> dict[int, Path]:
        """The recording of each rank."""
        found = {}
        for path in sorted(self.folder.glob("*.pt.trace.json")):
            worker = path.name.split("_")[0]
            found[int(worker[4:]) if worker.startswith("rank") else 0] = path
        return found

    def trace(self, rank: int = 0) -> Any:
        """The recording of a rank."""
        return json.loads(self.files[rank].read_text(encoding="utf-8"))

    def ranges(self, rank: int = 0) -> list[tuple[str, float, float]]:
        """Name, start and end in µs of each range that was marked, by start."""
        events = self.trace(rank)["traceEvents"]
        found = [(e["name"], e["ts"], e["ts"] + e["dur"]) for e in events if e.get("cat") == "user_annotation"]
        return sorted(found, key=lambda one: one[1])

    def starts_of(self, name: str, rank: int = 0) -> dict[int, float]:
        """Start in µs of each range of a name that a number follows."""
        return {int(one[len(name) :]): ts for one, ts, _ in self.ranges(rank) if one.startswith(name)}


def record(
    folder: Path, program: str, *arguments: str, options: list[str] | None = None, starting: list[str] | None = None
) -> Recorded:
    """Record a program of `PROGRAMS`, or another one, without a diagnosis."""
    into = folder / "recordings"
    # What else runs on the machine that tests run on is none of theirs.
    given = ["--no-machine", *(options or [])]
    command = [sys.executable, "-m", "stepscope", "record", "-o", str(into), "--no-report", *given]
    command += ["--", *(starting or [sys.executable]), str(PROGRAMS / program), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=300)
    return Recorded(done.returncode, done.stdout, done.stderr, into)
