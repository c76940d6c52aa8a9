"""Write the demo's recording anew: ``python -m stepscope.demo``."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from stepscope.demo import NAME
from stepscope.simulate import PRESETS, simulate


def write(target: Path) -> None:
    """Simulate a transformer's training whose loader and `.item()` calls keep the device waiting, and write it."""
    job = replace(PRESETS["transformer"], name="demo", steps=4, layers=6, workers=2, sequence=512)
    with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
        [path] = simulate(job, Path(folder) / NAME, faults=("slow-loader", "item-sync"))
        shutil.copyfile(path, target)


if __name__ == "__main__":
    write(Path(__file__).with_name(NAME))
