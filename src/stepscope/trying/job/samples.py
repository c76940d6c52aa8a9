"""Random numbers of the first samples, whichever process prepares them: a loader with workers then gives the same."""

from __future__ import annotations

import functools
import random
import sys
import zlib
from typing import Any, Final

#: Batches of each process that are seeded; each takes some tens of microseconds more.
_BATCHES: Final = 64


class SeededSamples:
    """Seeds random numbers by the positions of a batch's samples while it is prepared, and then puts them back.

    Without it, a loader's workers draw other numbers than the main process would, and losses would differ although
    nothing but their source did.

    Args:
        seed: What seeds start from.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._left = _BATCHES

    def see(self) -> None:
        """Stand around the loading of a batch."""
        from torch.utils.data._utils import fetch

        plain = fetch._MapDatasetFetcher.fetch

        @functools.wraps(plain)
        def fetched(fetcher: Any, positions: Any) -> Any:
            if self._left <= 0:
                return plain(fetcher, positions)
            self._left -= 1
            states = _states()
            _seed(zlib.crc32(f"{self._seed} {positions}".encode()))
            try:
                return plain(fetcher, positions)
            finally:
                _put(states)

        fetch._MapDatasetFetcher.fetch = fetched

    def stop(self) -> None:
        """Seed no more in this process."""
        self._left = 0


def _numpy() -> Any:
    return sys.modules.get("numpy.random")


def _states() -> tuple[Any, Any, Any]:
    import torch

    numpy = _numpy()
    return torch.get_rng_state(), random.getstate(), numpy.get_state() if numpy is not None else None


def _seed(seed: int) -> None:
    import torch

    torch.random.default_generator.manual_seed(seed)
    random.seed(seed)
    numpy = _numpy()
    if numpy is not None:
        numpy.seed(seed)


def _put(states: tuple[Any, Any, Any]) -> None:
    import torch

    torch.set_rng_state(states[0])
    random.setstate(states[1])
    numpy = _numpy()
    if numpy is not None and states[2] is not None:
        numpy.set_state(states[2])
