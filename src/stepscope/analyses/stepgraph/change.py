"""What a remedy does to a step, before anybody says what that is worth."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """Events whose time is multiplied: int64[n] ids, and by what."""

    events: NDArray[np.int64]
    factor: float


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A change of the job; changes add up with `+`.

    Attributes:
        device: Device activities that take another time; 0 removes them, and leaves their launch.
        host: Host events whose whole span takes another time, waits for the device apart.
        unblocked: int64[n], host calls that no longer wait for the device.
        overlapped: int64[n], device activities that no longer stand in the way of others.
    """

    device: tuple[Scaled, ...] = ()
    host: tuple[Scaled, ...] = ()
    unblocked: NDArray[np.int64] = field(default_factory=_none)
    overlapped: NDArray[np.int64] = field(default_factory=_none)

    def __add__(self, other: Change) -> Change:
        return Change(
            self.device + other.device,
            self.host + other.host,
            np.concatenate((self.unblocked, other.unblocked)),
            np.concatenate((self.overlapped, other.overlapped)),
        )
