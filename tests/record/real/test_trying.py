"""Trials of small programs with the real torch: what they find, what they leave alone, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from record_support import HAS_TORCH
from stepscope.trying.processes import processes_below

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")

PROGRAM = """
import sys, time
from pathlib import Path
import torch
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self):
        return 100_000
    def __getitem__(self, index):
        if "fails" in sys.argv and torch.utils.data.get_worker_info() is not None:
            raise ValueError("no workers here")
        time.sleep(0.002)
        return torch.randn(8)

torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
elsewhere = Path(sys.argv[1])
start = torch.load("last.pt")["step"]
for step, batch in enumerate(DataLoader(Samples(), batch_size=8), start):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    if step % 4 == 0:
        torch.save({"step": step}, "last.pt")
        torch.save({"step": step}, elsewhere / "last.pt")
        (elsewhere / f"{step}.txt").write_text("made")
"""


def project(tmp_path: Path) -> tuple[Path, Path]:
    """A program in a folder of its own, with checkpoints in it and elsewhere."""
    import torch

    working, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (working, elsewhere):
        folder.mkdir()
        torch.save({"step": 3}, folder / "last.pt")
    (working / "train.py").write_text(PROGRAM)
    return working, elsewhere


def arguments(tmp_path: Path, elsewhere: Path, *more: str) -> list[str]:
    options = ["-o", str(tmp_path / "out"), "--json", str(tmp_path / "out.json"), "--warmup", "8", "--minutes", "4"]
    options += ["--only", "loader-workers"]
    return [sys.executable, "-m", "stepscope", "try", *options, "train.py", str(elsewhere), *more]


def files(*folders: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def read(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "out.json").read_text())
    return found


def test_a_loader_gets_workers_and_the_program_keeps_its_files(tmp_path: Path) -> None:
    working, elsewhere = project(tmp_path)
    before = files(working, elsewhere)
    done = subprocess.run(arguments(tmp_path, elsewhere), cwd=working, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert files(working, elsewhere) == before
    assert not processes_below(tmp_path / "out")
    found = read(tmp_path)
    [one] = found["remedies"]
    assert (found["schema"], one["name"]) == ("stepscope.try/1", "loader-workers")
    assert found["base"]["step_ns"] > 16_000_000
    # Samples draw random numbers, which are the same in workers.
    assert one["numbers"]["same"], one
    assert one["verdict"] in ("helps", "no gain"), one
    assert one["measured_ns"] > 0
    assert one["write"][0] == "train.py:21"
    workers = min(8, found["base"]["cores"])
    assert one["write"][2].endswith(f"num_workers={workers}, persistent_workers=True), start):")


def test_a_remedy_that_fails_is_a_row(tmp_path: Path) -> None:
    working, elsewhere = project(tmp_path)
    done = subprocess.run(arguments(tmp_path, elsewhere, "fails"), cwd=working, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [one] = read(tmp_path)["remedies"]
    assert (one["verdict"], one["measured_ns"]) == ("failed", None)
    assert "no workers here" in one["why"]


def test_an_interrupted_trial_says_what_it_knows_and_goes_on_later(tmp_path: Path) -> None:
    working, elsewhere = project(tmp_path)
    before = files(working, elsewhere)
    line = arguments(tmp_path, elsewhere)
    # In the background of a script Ctrl-C would be ignored.
    before_it = signal.signal(signal.SIGINT, signal.SIG_DFL)
    started = subprocess.Popen(line, cwd=working, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before_it)
    with started as process:
        assert process.stderr is not None
        for said in process.stderr:
            if "pair 1" in said:
                break
        time.sleep(2)
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert not processes_below(tmp_path / "out")
    assert files(working, elsewhere) == before
    found = read(tmp_path)
    assert (found["finished"], found["remedies"][0]["verdict"]) == (False, "failed")
    again = subprocess.run([*line[:-2], "--minutes", "0.2", *line[-2:]], cwd=working, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "running the unchanged program" not in again.stderr


def test_norms_are_those_without_the_factor_of_a_scaler() -> None:
    import torch

    from stepscope.trying.job.numbers import FirstNumbers

    parameter = torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    numbers = FirstNumbers(2)
    parameter.grad = torch.ones(4)
    numbers._update(optimizer, (), {})
    # What `torch.amp.GradScaler` does where the optimizer is fused.
    parameter.grad, optimizer.grad_scale = torch.full((4,), 8.0), torch.tensor([8.0])
    numbers._update(optimizer, (), {})
    assert numbers.read()[1] == [2.0, 2.0]
