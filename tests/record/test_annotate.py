from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.cli.main import run
from stepscope.model.errors import UserError


def recorded(work: Any) -> list[str]:
    """Names of the ranges that are recorded while something is done, those within others first."""
    import torch

    profiler = torch.profiler._KinetoProfile()
    profiler.prepare_trace()
    profiler.start_trace()
    work()
    profiler.stop_trace()
    return [event["name"] for event in profiler.events]


def test_a_block_and_a_function(fakes: None) -> None:
    @stepscope.annotate("loss")
    def loss(deep: bool) -> int:
        return loss(False) if deep else 3

    def work() -> None:
        with stepscope.annotate("step"):
            assert loss(True) == 3

    assert recorded(work) == ["loss", "loss", "step"]


def test_a_range_ends_with_an_error(fakes: None) -> None:
    def work() -> None:
        with pytest.raises(ValueError, match="bad"), stepscope.annotate("step"):
            raise ValueError("bad")

    assert recorded(work) == ["step"]


def test_without_torch_nothing_happens() -> None:
    before = sys.modules.pop("torch", None)
    with stepscope.annotate("step"):
        pass
    assert "torch" not in sys.modules
    if before is not None:
        sys.modules["torch"] = before


def test_every_profiler_sees_the_range(npu: None) -> None:
    import torch
    import torch_npu

    torch.cuda.AVAILABLE = True
    assert recorded(lambda: stepscope.annotate("step").__enter__().__exit__(None, None, None)) == ["step"]
    assert torch.cuda.nvtx.calls == ["step", "pop"]
    assert torch_npu.npu.RANGES == ["step", 1]


def test_modules_to_a_depth(fakes: None) -> None:
    import torch

    class Block(torch.nn.Module):
        def __init__(self, *inner: Any) -> None:
            super().__init__()
            self._modules = {f"part{number}": one for number, one in enumerate(inner)}

        def forward(self) -> None:
            for one in self._modules.values():
                one()

    model = Block(Block(Block()), Block())
    annotations = stepscope.annotate_modules(model, depth=1)
    assert recorded(model) == ["part0 (Block)", "part1 (Block)", "model (Block)"]
    annotations.remove()
    assert recorded(model) == []


def test_raw_recordings_are_parsed(npu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / "runs" / f"{name}_1_ascend_pt").mkdir(parents=True)
    assert run(["parse-ascend", str(tmp_path / "runs"), "--processes", "100000"]) == 0
    out, err = capsys.readouterr()
    assert out == f"analysed runs with {os.cpu_count()}\n"
    assert "parsed 2 recordings" in err


def test_what_can_not_be_parsed(fakes: None, tmp_path: Path) -> None:
    from stepscope.record.offline import parse

    with pytest.raises(UserError, match="holds no recording of an NPU"):
        parse(tmp_path, 1)
    (tmp_path / "a_1_ascend_pt").mkdir()
    with pytest.raises(UserError, match="torch_npu is not installed"):
        parse(tmp_path, 1)
