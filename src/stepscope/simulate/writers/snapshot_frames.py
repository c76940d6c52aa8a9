"""Call stacks of a memory snapshot, innermost frame first, as ``stacks="all"`` gathers them."""

from __future__ import annotations

import re
from typing import Any, Final

from stepscope.simulate.records import Context

SnapshotFrame = dict[str, Any]

_PYTHON: Final = re.compile(r"(.*)\((\d+)\): (.*)")
_LIBRARIES: Final = ("torch/", "torchvision/")
_SITE: Final = "/usr/local/lib/python3.12/site-packages/"
_PROJECT: Final = "/opt/job/"
_ALLOCATION: Final = (
    ("c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long, CUstream_st*)",
     "CUDACachingAllocator.cpp"),
    ("at::detail::empty_cuda(c10::ArrayRef<long>, c10::TensorOptions const&)", "??"),
)  # fmt: skip
_EVALUATE: Final = "autograd::engine::evaluate_function: "
_ENGINE: Final = (
    "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&, torch::autograd::Node*, "
    "torch::autograd::InputBuffer&, std::shared_ptr<torch::autograd::ReadyQueue> const&)"
)
_THREAD: Final = "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)"


class SnapshotStacks:
    """Stacks by what the host was in; equal ones, and equal frames, are one object."""

    def __init__(self) -> None:
        self._stacks: dict[Context, list[SnapshotFrame]] = {}
        self._frames: dict[tuple[str, str, int], SnapshotFrame] = {}

    def of(self, context: Context) -> list[SnapshotFrame]:
        """The stack of an allocation or a free."""
        stack = self._stacks.get(context)
        if stack is None:
            stack = [self._frame(name, file) for name, file in _ALLOCATION]
            for operator in reversed(context.operators):
                stack.append(self._frame(_compiled(operator.name), "??"))
            if context.operators and context.operators[0].name.startswith(_EVALUATE):
                stack.append(self._frame(_THREAD, "??"))
            stack += [self._python(frame) for frame in reversed(context.frames)]
            self._stacks[context] = stack
        return stack

    def _frame(self, name: str, file: str, line: int = 0) -> SnapshotFrame:
        return self._frames.setdefault((name, file, line), {"name": name, "filename": file, "line": line})

    def _python(self, name: str) -> SnapshotFrame:
        found = _PYTHON.fullmatch(name)
        if found is None:
            # A module's call stands for the machinery around its forward.
            return self._frame("_call_impl", f"{_SITE}torch/nn/modules/module.py", 1790)
        file, line, function = found.groups()
        folder = _SITE if file.startswith(_LIBRARIES) else _PROJECT
        return self._frame(function, folder + file, int(line))


def _compiled(name: str) -> str:
    """The function that an operator runs in."""
    if name.startswith("aten::"):
        return f"at::_ops::{name.removeprefix('aten::')}::call(at::Tensor const&)"
    if name.startswith(_EVALUATE):
        return _ENGINE
    if name.endswith(("Backward", "Backward0")):
        return f"torch::autograd::generated::{name}::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)"
    return f"{name}()"
