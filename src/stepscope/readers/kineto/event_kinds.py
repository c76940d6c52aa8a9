"""The distinct (category, name) pairs of a trace, each classified once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stepscope.model.categories import CATEGORIES
from stepscope.native.scanning import Combination
from stepscope.readers.kineto import values
from stepscope.readers.kineto.vocabulary import EventKind, direction, event_kind, is_on_device, is_ours, memory_kinds
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The host operator that describes a collective in its arguments.
_COMM_PARAMS: Final = "record_param_comms"
#: Categories of events that are calls of operators with inputs.
_WITH_INPUTS: Final = ("op", "dataloader")
#: Categories of flows from launches to device work.
_LAUNCH_FLOWS: Final = ("ac2g", "async_cpu_to_gpu", "async_gpu", "async")
_DETAILS: Final = ("kind", "direction", "source", "target")


class EventKinds:
    """Classification of (category, name) pairs, by number.

    Attributes:
        name_ids: int32[n], row of `names`.
        categories: int8[n], position among `CATEGORIES`.
        is_work: bool[n], whether the event is device work.
        is_copy: bool[n], whether it is a copy or memset.
        describes: bool[n], whether its arguments may describe a collective.
        on_device: bool[n], whether it is on a device's queue.
        with_inputs: bool[n], whether it is a call that may have inputs.
        of_launches: bool[n], whether it is a flow of launches, if it is one.
        ours: bool[n], whether it is of the recorder, no part of the program.
    """

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._numbers: dict[tuple[bytes | None, bytes | None], int] = {}
        self._name_ids: dict[str, int] = {}
        self._details: list[tuple[str | None, ...]] = []
        self.name_ids = np.zeros(0, np.int32)
        self.categories = np.zeros(0, np.int8)
        self.is_work, self.is_copy, self.describes, self.on_device, self.with_inputs = np.zeros((5, 0), np.bool_)
        self.of_launches, self.ours = np.zeros((2, 0), np.bool_)

    def numbers(self, kinds: Combination) -> NDArray[np.int64]:
        """The number of each event's pair, int64[n], from its phase, category, name, ..."""
        pairs = [(cat, name) for _, cat, name, *_ in kinds.texts]
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._numbers]
        if new:
            self._numbers.update({pair: len(self._numbers) + i for i, pair in enumerate(new)})
            self._add([(values.text(cat) or "", values.text(name) or "") for cat, name in new])
        return np.array([self._numbers[pair] for pair in pairs], np.int64)[kinds.numbers]

    def details(self, numbers: NDArray[np.int64]) -> dict[str, pa.Array]:
        """`kind` of pairs, and `direction`, `source` and `target` of copies."""
        unique, place = np.unique(numbers, return_inverse=True)
        columns = zip(*(self._details[number] for number in unique.tolist()), strict=True)
        return {
            name: pa.array(column, pa.string()).take(pa.array(place))
            for name, column in zip(_DETAILS, columns, strict=True)
        }

    def _add(self, texts: list[tuple[str, str]]) -> None:
        names = dict.fromkeys(name for _, name in texts if name not in self._name_ids)
        self._name_ids.update(self._staging.add_names(list(names)))
        kinds = [event_kind(*text) for text in texts]
        self.name_ids = np.append(self.name_ids, np.array([self._name_ids[name] for _, name in texts], np.int32))
        self.categories = np.append(self.categories, np.array([CATEGORIES.index(m.category) for m in kinds], np.int8))
        flags = np.array([_flags(cat, name, kind) for (cat, name), kind in zip(texts, kinds, strict=True)], np.bool_)
        before = (
            self.is_work, self.is_copy, self.describes, self.on_device, self.with_inputs, self.of_launches,
            self.ours,
        )  # fmt: skip
        (
            self.is_work,
            self.is_copy,
            self.describes,
            self.on_device,
            self.with_inputs,
            self.of_launches,
            self.ours,
        ) = (np.append(old, new) for old, new in zip(before, flags.T, strict=True))
        self._details += (
            (m.kind, direction(name), *memory_kinds(name)) for m, (_, name) in zip(kinds, texts, strict=True)
        )


def _flags(cat: str, name: str, kind: EventKind) -> tuple[bool, ...]:
    on_device = is_on_device(cat)
    return (
        kind.is_work,
        kind.kind in ("copy", "set"),
        kind.is_work or (name == _COMM_PARAMS and not on_device),
        on_device,
        kind.category in _WITH_INPUTS,
        cat in _LAUNCH_FLOWS,
        is_ours(cat, name),
    )
