"""How much of what batches are padded to is padding, by the recorded shapes of the samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.signals.shared.tensor_shapes import tensors
from stepscope.signals.signal import Signals, signal

_PADS: Final = "aten::pad_sequence"


@dataclass(frozen=True, slots=True)
class Padding:
    """Samples that were padded to the longest of their batch.

    Attributes:
        batches: How many batches.
        samples: How many samples.
        longest: Mean length of the longest sample of a batch.
        mean: Mean length of a sample.
        padded: Padding as a share of what the batches hold.
        events: int64[n], the calls that pad, those with the most padding first.
    """

    batches: int
    samples: int
    longest: float
    mean: float
    padded: float
    events: NDArray[np.int64]


@signal()
def padding(s: Signals) -> Padding:
    """Padding of batches, where the program pads them with shapes recorded."""
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    at = np.flatnonzero(np.isin(spans.name, [one for one, name in names.items() if name == _PADS]))
    texts, rows = s.trace.once(input_texts), inputs_at(s.trace, at)
    found: list[tuple[int, list[int]]] = []
    for event, row in zip(spans.id[at].tolist(), rows.tolist(), strict=True):
        lengths = [shape[0] for shape in tensors(texts[row]["shapes"]) if shape] if row >= 0 else []
        if len(lengths) > 1 and max(lengths) > 0:
            found.append((event, lengths))
    if not found:
        raise MissingInputError(
            "the lengths of samples are not recorded", hint="record the collation of batches with record_shapes=True"
        )
    held = sum(len(lengths) * max(lengths) for _, lengths in found)
    filled, samples = sum(sum(lengths) for _, lengths in found), sum(len(lengths) for _, lengths in found)
    most = sorted(found, key=lambda one: sum(one[1]) - len(one[1]) * max(one[1]))
    return Padding(
        len(found), samples, held / samples, filled / samples, 1 - filled / held,
        np.array([event for event, _ in most], np.int64),
    )  # fmt: skip
