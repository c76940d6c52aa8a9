"""The category that PyTorch's traces give an event, so that reading it back gives the same event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from stepscope.model.kernel_names import classify

_ON_HOST: Final = {
    "step": "user_annotation",
    "annotation": "user_annotation",
    "module": "python_function",
    "op": "cpu_op",
    "python": "python_function",
    "runtime": "cuda_runtime",
    "sync": "cuda_runtime",
    "launch": "cuda_runtime",
    "gc": "python_function",
    "dataloader": "cpu_op",
    "overhead": "overhead",
}
_ON_DEVICE: Final = {
    "annotation": "gpu_user_annotation",
    "kernel": "kernel",
    "collective": "kernel",
    "copy": "gpu_memcpy",
    "set": "gpu_memset",
    "sync": "cuda_sync",
}


def category_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows (category, on_device, name) with `cat` added."""
    return [{**row, "cat": _cat(row["category"], row["on_device"], row["name"])} for row in rows]


def _cat(category: str, on_device: bool, name: str) -> str:
    if not on_device:
        return _ON_HOST.get(category, category)
    if category == "collective" and classify(name).op_class != "collective":
        return "collective_comm"  # the name alone would not tell
    return _ON_DEVICE.get(category, category)
