"""The kinds of change that are planted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from bench.comparing import device, host
from bench.comparing.trace import PlantedTrace
from bench.comparing.truth import NotThereError, Truth


def memory(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """All that is allocated is a quarter larger."""
    if not trace.enlarge(1 + size / 4):
        raise NotThereError
    return Truth(0, len(trace.steps), (), (("peak memory",),), memory=0.25 * size)


PLANTS: Final[Mapping[str, Callable[[PlantedTrace, float], Truth]]] = {
    "periodic stall": host.stall,
    "kernel class × 1.5": device.kernel_class,
    "longer copies": device.copies,
    "synchronisation": host.synchronisation,
    "more memory": memory,
    "twice the batch": device.batch_size,
    "split kernels": device.split,
    "fused kernels": device.fused,
    "slower operator": host.host_operator,
    "slower collectives": device.collectives,
    "allocation": host.allocation,
    "single stall": host.single_stall,
    "slower loader": host.loader,
    "pause of the host": host.garbage,
    "recompilation": host.compiling,
    "values read back": host.reading_back,
    "slower clock": device.clock,
    "fewer, longer kernels": device.fewer,
    "one slower collective": device.one_collective,
}
