"""Page-locked batches, and copies to the device that nobody waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    if seen.device == "cpu":
        return said("the program uses no device")
    loaders = seen.of("loader")
    if not loaders:
        return said("the program has no DataLoader")
    return ""


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    del seen
    return {} if arguments.get("pin_memory") else {"pin_memory": True}


def _start(seen: Seen) -> bool:
    """Have copies of page-locked tensors to a device return at once."""
    import functools

    import torch

    del seen
    plain = torch.Tensor.to

    @functools.wraps(plain)
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        target = args[0] if args else kwargs.get("device")
        away = isinstance(target, (str, int, torch.device)) and torch.device(target).type != "cpu"
        if away and len(args) == 1 and self.device.type == "cpu" and self.is_pinned():
            kwargs.setdefault("non_blocking", True)
        return plain(self, *args, **kwargs)

    torch.Tensor.to = to
    return True


def _write(seen: Seen) -> tuple[str, ...]:
    return (f'batch = batch.to("{seen.device}", non_blocking=True)',)


REMEDY = OutsideRemedy(
    name="pinned-memory",
    title="Pin the loader's batches, and copy them without waiting",
    rules=("CPY001", "CPY002", "CPY004", "SYN003", "CPY007"),
    numbers="exact",
    changes="nothing",
    fits=_fits,
    edits={"loader": _edit},
    start=_start,
    write=_write,
)
