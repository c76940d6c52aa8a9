"""The distinct (category, name) pairs of a trace, each classified once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stepscope.model.categories import CATEGORIES
from stepscope.readers.kineto.interned import Interned
from stepscope.readers.kineto.vocabulary import direction, event_kind, is_on_device, is_ours, memory_kinds
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The host operator that describes a collective in its arguments.
_COMM_PARAMS: Final = "record_param_comms"
#: Categories of events that are calls of operators with inputs.
_WITH_INPUTS: Final = ("op", "dataloader")
_DETAILS: Final = ("kind", "direction", "source", "target")


class EventKinds:
    """Classification of (category, name) pairs, by their number in `keys`.

    Attributes:
        keys: Numbers of the pairs.
        name_ids: int32[n], row of `names`.
        categories: int8[n], position among `CATEGORIES`.
        is_work: bool[n], whether the event is device work.
        is_copy: bool[n], whether it is a copy or memset.
        describes: bool[n], whether its arguments may describe a collective.
        on_device: bool[n], whether it is on a device's queue.
        with_inputs: bool[n], whether it is a call that may have inputs.
        ours: bool[n], whether it is a function by which stepscope recorded, no part of the program.
    """

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._ids: dict[str, int] = {}
        self._details: list[tuple[str | None, ...]] = []
        self.keys = Interned()
        self.name_ids = np.zeros(0, np.int32)
        self.categories = np.zeros(0, np.int8)
        self.is_work, self.is_copy, self.describes, self.on_device, self.with_inputs = np.zeros((5, 0), np.bool_)
        self.ours = np.zeros(0, np.bool_)

    def add(self, keys: NDArray[np.uint64], texts: Sequence[tuple[str, str]]) -> None:
        """Add new pairs of category and name."""
        self.keys.add(keys)
        self._ids.update(self._staging.add_names([name for name in _distinct(texts) if name not in self._ids]))
        kinds = [event_kind(*text) for text in texts]
        is_work = np.array([m.is_work for m in kinds], np.bool_)
        on_device = np.array([is_on_device(cat) for cat, _ in texts], np.bool_)
        by_host = np.array([name == _COMM_PARAMS for _, name in texts], np.bool_) & ~on_device
        self.name_ids = np.append(self.name_ids, np.array([self._ids[name] for _, name in texts], np.int32))
        self.categories = np.append(self.categories, np.array([CATEGORIES.index(m.category) for m in kinds], np.int8))
        self.is_work = np.append(self.is_work, is_work)
        self.is_copy = np.append(self.is_copy, [m.kind in ("copy", "set") for m in kinds])
        self.describes = np.append(self.describes, is_work | by_host)
        self.on_device = np.append(self.on_device, on_device)
        self.with_inputs = np.append(self.with_inputs, [m.category in _WITH_INPUTS for m in kinds])
        self.ours = np.append(self.ours, [is_ours(cat, name) for cat, name in texts])
        self._details += (
            (m.kind, direction(name), *memory_kinds(name)) for m, (_, name) in zip(kinds, texts, strict=True)
        )

    def details(self, numbers: NDArray[np.int64]) -> dict[str, pa.Array]:
        """`kind` of pairs, and `direction`, `source` and `target` of copies."""
        unique, place = np.unique(numbers, return_inverse=True)
        columns = zip(*(self._details[number] for number in unique.tolist()), strict=True)
        return {
            name: pa.array(values, pa.string()).take(pa.array(place))
            for name, values in zip(_DETAILS, columns, strict=True)
        }


def _distinct(texts: Sequence[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for _, name in texts))
