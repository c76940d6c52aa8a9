"""The categories and names of a trace, each with what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stepscope.model.categories import CATEGORIES
from stepscope.readers.kineto.interned import Interned
from stepscope.readers.kineto.names import Meaning, direction, is_on_device, meaning, memory_kinds
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The host operator that describes a collective in its arguments.
_COMM_PARAMS: Final = "record_param_comms"
#: Categories of events that are calls of operators with inputs.
_WITH_INPUTS: Final = ("op", "dataloader")


class KnownNames:
    """Pairs of category and name by their number in `keys`.

    Attributes:
        keys: Numbers the pairs.
        name_ids: int32[n], row of `names`.
        categories: int8[n], position among `CATEGORIES`.
        is_work: bool[n], whether the event is device work.
        is_copy: bool[n], whether it is a copy or sets memory.
        has_details: bool[n], whether its arguments are looked at.
        on_device: bool[n], whether it lies on a device's queue.
        with_inputs: bool[n], whether it is a call that may have inputs.
    """

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._ids: dict[str, int] = {}
        self._texts: list[tuple[str, str]] = []
        self._meanings: list[Meaning] = []
        self.keys = Interned()
        self._describe()

    def add(self, keys: NDArray[np.uint64], texts: Sequence[tuple[str, str]]) -> None:
        """Number pairs of category and name that were not added yet."""
        self.keys.add(keys)
        self._texts += texts
        self._meanings += [meaning(*text) for text in texts]
        new = [name for name in dict.fromkeys(name for _, name in texts) if name not in self._ids]
        self._ids.update(self._staging.add_names(new))
        self._describe()

    def details(self, numbers: NDArray[np.int64]) -> dict[str, pa.Array]:
        """What is known of pairs beside their numbers: `kind`, and `direction`, `source` and `target` of copies."""
        unique, place = np.unique(numbers, return_inverse=True)
        kinds = [self._meanings[number].kind for number in unique]
        names = [self._texts[number][1] for number in unique]
        memory = [memory_kinds(name) for name in names]
        columns = {
            "kind": kinds,
            "direction": [direction(name) for name in names],
            "source": [source for source, _ in memory],
            "target": [target for _, target in memory],
        }
        return {name: pa.array(values, pa.string()).take(pa.array(place)) for name, values in columns.items()}

    def _describe(self) -> None:
        meanings = self._meanings
        self.name_ids = np.array([self._ids[name] for _, name in self._texts], np.int32)
        self.categories = np.array([CATEGORIES.index(m.category) for m in meanings], np.int8)
        self.is_work = np.array([m.is_work for m in meanings], np.bool_)
        self.is_copy = np.array([m.kind in ("copy", "set") for m in meanings], np.bool_)
        self.on_device = np.array([is_on_device(cat) for cat, _ in self._texts], np.bool_)
        describes = np.array([name == _COMM_PARAMS for _, name in self._texts], np.bool_)
        self.has_details = self.is_work | (describes & ~self.on_device)
        self.with_inputs = np.array([m.category in _WITH_INPUTS for m in meanings], np.bool_)
