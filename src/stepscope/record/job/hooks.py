"""Hooks in torch that see updates by optimizers, batches of loaders and the program's profilers, and change none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepscope.record.job.recorder import Recorder


def install(recorder: Recorder) -> None:
    """See optimizers, loaders and profilers of this process."""
    import torch
    from torch.autograd import profiler
    from torch.optim import optimizer as optimizers
    from torch.utils.data import dataloader

    compiling = torch.compiler.is_compiling

    def updated(optimizer: Any, args: Any, kwargs: Any) -> None:
        del args, kwargs
        if not compiling():
            recorder.updated(id(optimizer))

    optimizers.register_optimizer_step_post_hook(updated)
    _see_the_end_of_updates(optimizers.Optimizer, recorder, compiling)
    iterators: Any = dataloader._BaseDataLoaderIter
    asked = iterators.__next__

    @functools.wraps(asked)
    def next_batch(self: Any) -> Any:
        recorder.asked()
        return asked(self)

    iterators.__next__ = next_batch
    recorder.models.see(torch.nn.Module)
    if recorder.settings.profiler == "torch":
        recorder.others.see(profiler.profile)


def _see_the_end_of_updates(optimizer: Any, recorder: Recorder, compiling: Callable[[], bool]) -> None:
    """See when an update is over.

    The hook above runs within the range that torch records around an update, which no range of a step may cut. Each
    class of optimizers is prepared by `profile_hook_step` when the first of it is made, which also shows that the
    program trains.
    """
    prepare = getattr(optimizer, "profile_hook_step", None)
    if prepare is None:
        recorder.updates_end_unseen = True
        return

    def profile_hook_step(func: Any) -> Any:
        recorder.finder.expects_updates = True
        update = prepare(func)

        @functools.wraps(update)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = update(*args, **kwargs)
            if not compiling():
                recorder.update_over()
            return result

        return wrapper

    optimizer.profile_hook_step = staticmethod(profile_hook_step)
