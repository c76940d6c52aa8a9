"""What sees updates by optimizers, batches of loaders, calls of models and the program's profilers; changes none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepscope.record.job.unseen import Watched, never_compile, stand_in
from stepscope.record.job.watch.batches import ToldWhenSet

if TYPE_CHECKING:
    from stepscope.record.job.recorder import Recorder


def install(recorder: Recorder) -> None:
    """See optimizers, loaders, models and profilers of this process."""
    import torch
    from torch.autograd import profiler
    from torch.optim import optimizer as optimizers
    from torch.utils.data import dataloader

    pace = recorder.pace
    kind = type(recorder)
    never_compile(Watched.__get__, ToldWhenSet.__set__, pace.asked, pace.got, pace.updated, pace.called)
    never_compile(kind.asked, kind.updated, kind.called, kind.trains, kind._happened)
    _see_updates(optimizers.Optimizer, recorder)
    Watched(dataloader._BaseDataLoaderIter, "__next__", pace.asked).put()
    if recorder.clock is not None:
        ToldWhenSet(pace.got).put(dataloader._BaseDataLoaderIter)
    recorder.models.see(torch.nn.Module)
    if recorder.settings.profiler == "torch":
        recorder.others.see(profiler.profile)


def _see_updates(optimizer: Any, recorder: Recorder) -> None:
    """See when an update is over, with the range that torch records around it, which no range of a step may cut.

    Each class of optimizers is prepared by `profile_hook_step` when the first of it is made, which also shows that the
    program trains. An update within another one of the same optimizer, as of a class above, is a part of that.
    """
    import torch

    prepare = optimizer.profile_hook_step
    is_compiling = torch.compiler.is_compiling
    going_on: set[int] = set()
    updated = recorder.pace.updated

    def profile_hook_step(func: Any) -> Any:
        recorder.trains()
        update: Callable[..., Any] = prepare(func)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            # What the compiler makes of this is a call of the function. It is no `stand_in`: where that is a method,
            # and what it does breaks the graph, the compiler calls the function without its instance.
            if is_compiling():
                return update(*args, **kwargs)
            one = id(args[0]) if args else 0
            if one in going_on:
                return update(*args, **kwargs)
            going_on.add(one)
            try:
                result = update(*args, **kwargs)
            finally:
                going_on.discard(one)
            updated(one)
            return result

        never_compile(wrapper)
        return functools.update_wrapper(wrapper, update)

    if _is_in_use(optimizer):
        # The program trains already: classes that are prepared stay as they are, and their updates are told by torch.
        _see_later(recorder)
        return
    optimizer.profile_hook_step = staticmethod(stand_in(prepare, profile_hook_step))


def _is_in_use(optimizer: Any) -> bool:
    """Whether a class of optimizers has been prepared, since there is one of it."""
    waiting = [optimizer]
    while waiting:
        kind = waiting.pop()
        if getattr(kind.__dict__.get("step"), "hooked", False):
            return True
        waiting += kind.__subclasses__()
    return False


def _see_later(recorder: Recorder) -> None:
    """See updates of optimizers that are there already, at their end, within the range that torch records."""
    from torch.optim import optimizer as optimizers

    recorder.trains()

    def updated(optimizer: Any, *_: Any) -> None:
        recorder.pace.updated(id(optimizer))

    never_compile(updated)
    optimizers.register_optimizer_step_post_hook(updated)
