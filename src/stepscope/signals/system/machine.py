"""How busy the machine was while the steps ran, from samples beside the recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.shared.machine_samples import MachineSeries, machine_series
from stepscope.language import said
from stepscope.model.errors import MissingInputError
from stepscope.signals.signal import Signals, signal

#: Series of the job's processes and of a rank's main thread have the same names.
_BUSY: Final = "busy"
_READY: Final = "ready without a processor"
_MAIN: Final = "main thread of process "
_PROCESS_SQL: Final = """
SELECT DISTINCT t.process FROM spans s JOIN tracks t USING (track) WHERE s.category = 'step' AND t.process IS NOT NULL
"""
_DEVICES_SQL: Final = "SELECT DISTINCT device FROM kernels WHERE device IS NOT NULL ORDER BY device"


@dataclass(frozen=True, slots=True)
class ProcessorUse:
    """Use of processors while the steps ran; means.

    Attributes:
        cores: Processors that the job may use at a time.
        job: Processors that its threads used.
        waiting: Threads of it that were ready to run and had none.
        others: Processors in use by other processes, of those that the job may use.
        main: Share of the time that the rank's main thread ran; None if not sampled.
        main_waiting: Share of the time that it was ready to run and had no processor; None if not sampled.
        threads: Threads of the job.
        workers: Loader workers of the job.
        processes: Processes of the job.
    """

    cores: float
    job: float
    waiting: float
    others: float = 0.0
    main: float | None = None
    main_waiting: float | None = None
    threads: int = 0
    workers: int = 0
    processes: int = 1

    @property
    def blocked(self) -> float | None:
        """Share of the time in which the main thread waited for something else than a processor."""
        if self.main is None or self.main_waiting is None:
            return None
        return max(1.0 - self.main - self.main_waiting, 0.0)


@signal()
def samples(s: Signals) -> MachineSeries:
    """Samples of the machine while the steps ran."""
    return s.whole.trace.once(machine_series)


@signal()
def processors(s: Signals) -> ProcessorUse:
    """Use of processors by the job, its main thread, and everybody."""
    found = s(samples)
    cores, job, waiting = (found.mean("job", name) for name in ("may use", _BUSY, _READY))
    if cores is None or job is None or waiting is None:
        raise MissingInputError.of("machine")
    main = _main(s, found)
    counts = [round(found.mean("job", name) or 0) for name in ("threads", "loader workers", "processes")]
    return ProcessorUse(
        cores, job, waiting, _others(found, cores, job), found.mean(main, _BUSY), found.mean(main, _READY),
        counts[0], counts[1], max(counts[2], 1),
    )  # fmt: skip


def _others(found: MachineSeries, cores: float, job: float) -> float:
    """Processors in use by others: where the job may use some of the machine's only, its part of these."""
    everybody, all_ = found.mean("processors", _BUSY), len(found.subjects("core "))
    part = min(cores / all_, 1.0) if all_ else 1.0
    return max((everybody or 0.0) - job, 0.0) * part


def _main(s: Signals, found: MachineSeries) -> str:
    """The main thread of the process whose steps these are."""
    rows = s.trace.rows(_PROCESS_SQL)
    named = [f"{_MAIN}{row['process']}" for row in rows]
    sampled = found.subjects(_MAIN)
    return next((one for one in named if one in sampled), sampled[0] if len(sampled) == 1 else "")


@signal("share")
def device_busy(s: Signals) -> float:
    """Mean utilisation of the devices that the rank uses, as their driver says."""
    found = s(samples)
    used = [said("device {device}", device=row["device"]) for row in s.whole.trace.rows(_DEVICES_SQL)]
    values = [value for name in used if (value := found.mean(name, _BUSY)) is not None]
    if not values:
        raise MissingInputError.of("machine")
    return float(np.mean(values))


@signal("share")
def disk_busy(s: Signals) -> float:
    """Mean share of the time in which the busiest disk of the machine was in use; 0 if it has none."""
    found = s(samples)
    return max((found.mean(name, _BUSY) or 0.0 for name in found.subjects("disk ")), default=0.0)


@signal("bytes/s")
def network_rate(s: Signals) -> float:
    """Bytes per second that the machine received and sent."""
    found = s(samples)
    names = found.subjects("network ")
    return sum(found.mean(name, way) or 0.0 for name in names for way in ("received", "sent"))
