"""Put the hooks in place, in a process that has imported torch, and in its forks."""

from __future__ import annotations

import os
import sys

from stepscope.record.job import hooks
from stepscope.record.job.ending import at_exit
from stepscope.record.job.imports import wait_for
from stepscope.record.job.patience import Patience
from stepscope.record.job.recorder import Recorder
from stepscope.record.settings import RecordSettings

_entered: list[Recorder] = []


def current() -> Recorder | None:
    """What records this process, if anything."""
    return _entered[0] if _entered else None


def enter(settings: RecordSettings | None = None) -> None:
    """Start to look for steps; whatever fails here is said, and the program goes on without being recorded.

    Args:
        settings: What to do; that of the environment if not given.
    """
    settings = settings or RecordSettings.given()
    if settings is None:
        return
    try:
        recorder = Recorder(settings)
        hooks.install(recorder)
        recorder.memory.await_device()
        if settings.memory:
            # It may be imported long after torch, and before the model goes to its NPU.
            wait_for("torch_npu", recorder.memory.await_device)
        patience = Patience(recorder)
        patience.start()
        at_exit(recorder.leave)
        _entered.append(recorder)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=patience.end, after_in_child=recorder.begin_anew)
    except Exception as error:
        print(f"stepscope: nothing is recorded of this process ({error}).", file=sys.stderr)  # noqa: T201
