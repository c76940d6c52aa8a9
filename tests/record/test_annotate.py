from __future__ import annotations

import sys
from typing import Any

import pytest

import stepscope


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
