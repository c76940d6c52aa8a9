"""What is said before a recording starts: options that cost much, never end, or spoil the first step."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from stepscope.record.api.handlers import TraceHandler
from stepscope.record.api.schedules import ProfilerSchedule

#: Bytes per step that recordings of large models take, roughly: with Python functions, and without.
_WITH_STACKS: Final = 25_000_000
_WITHOUT: Final = 5_000_000
#: Steps beyond which Python functions with shapes are a lot.
_MANY: Final = 10
#: Steps that a job with changing shapes compiles in.
_COMPILING: Final = 10


def notices(options: dict[str, Any], schedule: Any, handler: Any, compiles: bool) -> Iterator[str]:
    """Sentences without a full stop.

    Args:
        options: Arguments of `profile`.
        schedule: The schedule; only one of `schedule` is known.
        handler: What is called when a recording is ready.
        compiles: Whether operators are compiled as shapes change: on an NPU, and where torch.compile is used.
    """
    if options.get("with_flops") and not options.get("record_shapes"):
        yield "with_flops needs shapes, which are recorded, too; give record_shapes=True to see them"
    if not isinstance(schedule, ProfilerSchedule):
        return
    one = schedule
    if one.warmup < 1:
        yield "warmup is 0: the first recorded step holds the profiler's own start; give warmup=1"
    if one.repeat == 0:
        cycle = one.wait + one.warmup + one.active
        yield f"repeat is 0: a recording is written every {cycle} steps as long as the job runs; give repeat=1 for one"
    if compiles and one.skip_first + one.wait + one.warmup < _COMPILING:
        yield f"operators may be compiled in the first steps where shapes change; give skip_first={_COMPILING}"
    stacks = bool(options.get("with_stack"))
    if stacks and options.get("record_shapes") and one.active > _MANY:
        yield f"with_stack and record_shapes over {one.active} steps slow these down and fill memory; record fewer"
    need = one.active * max(1, one.repeat) * (_WITH_STACKS if stacks else _WITHOUT)
    folder = handler.folder if isinstance(handler, TraceHandler) else Path.cwd()
    while not folder.exists():
        folder = folder.parent
    if shutil.disk_usage(folder).free < need:
        free = shutil.disk_usage(folder).free
        yield f"recordings of large models may take {need >> 20} MiB, and {folder} has {free >> 20} MiB left"
