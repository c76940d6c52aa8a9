"""What sees updates by optimizers, batches of loaders, calls of models and the program's profilers; changes none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepscope.record.job.unseen import Watched, never_compile, stand_in

if TYPE_CHECKING:
    from stepscope.record.job.recorder import Recorder


def install(recorder: Recorder) -> None:
    """See optimizers, loaders, models and profilers of this process."""
    import torch
    from torch.autograd import profiler
    from torch.optim import optimizer as optimizers
    from torch.utils.data import dataloader

    never_compile(Watched.__get__, *recorder.entries())
    _see_updates(optimizers.Optimizer, recorder)
    Watched(dataloader._BaseDataLoaderIter, "__next__", lambda _: recorder.asked()).put()
    recorder.models.see(torch.nn.Module)
    if recorder.settings.profiler == "torch":
        recorder.others.see(profiler.profile)


def _see_updates(optimizer: Any, recorder: Recorder) -> None:
    """See when an update is over, with the range that torch records around it, which no range of a step may cut.

    Each class of optimizers is prepared by `profile_hook_step` when the first of it is made, which also shows that the
    program trains. An update within another one of the same optimizer, as of a class above, is a part of that.
    """
    prepare = optimizer.profile_hook_step
    going_on: set[int] = set()

    def profile_hook_step(func: Any) -> Any:
        recorder.trains()
        update: Callable[..., Any] = prepare(func)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            one = id(args[0]) if args else 0
            if one in going_on:
                return update(*args, **kwargs)
            going_on.add(one)
            try:
                result = update(*args, **kwargs)
            finally:
                going_on.discard(one)
            recorder.updated(one)
            return result

        return stand_in(update, wrapper)

    optimizer.profile_hook_step = staticmethod(stand_in(prepare, profile_hook_step))
