"""What the launcher of a watched job does besides waiting for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from stepscope.language import said, told

if TYPE_CHECKING:
    from stepscope.record.machine.sampler import MachineSampler
    from stepscope.record.settings import RecordSettings


@contextmanager
def watching(settings: RecordSettings, sampler: MachineSampler | None, prometheus: int | None) -> Iterator[list[str]]:
    """Watch a job within, if it is to be; what it gives is filled behind it with sentences about what was watched.

    Args:
        settings: What its processes record, and whether they are watched.
        sampler: What samples the machine.
        prometheus: Port that answers with metrics; None for none.
    """
    if not settings.ring:
        yield []
        return
    from stepscope.record.machine.recorded_now import RecordedRanks
    from stepscope.record.ring.reader import rings_in
    from stepscope.record.triggers.keeping import recordings_in
    from stepscope.record.triggers.request import WATCHED
    from stepscope.record.watching.metrics import serving_metrics
    from stepscope.record.watching.summary import watched
    from stepscope.record.watching.watcher import JobWatcher

    output = Path(settings.output)
    rings = output / WATCHED
    reported = RecordedRanks(Path(settings.reports))
    samples = sampler.path if sampler else None
    watcher = JobWatcher(output, samples, settings.cooldown_s, reported.recording)
    lines: list[str] = []
    began, before = time.time_ns(), set(recordings_in(output))
    with serving_metrics(rings, prometheus) as port:
        if prometheus == 0:
            typer.echo(told(said("stepscope: metrics are at port {port}.", port=port)), err=True)
        watcher.start()
        try:
            yield lines
        finally:
            watcher.stop()
    # The same job may have been watched here before it was started again.
    lines += watched(output, [one for one in rings_in(rings, 0) if one.since_unix_ns >= began], before)
