"""Whether host work saves weights, states or results."""

from __future__ import annotations

import re
from typing import Final

from stepscope.analyses.steps.phase_names import phase_of
from stepscope.signals.host.own_work import Doing

#: Saving of weights and states, in names of functions and ranges.
_SAVING: Final = re.compile(
    r"checkpoint(?!_sequential|ing|\.py)|save_(state|model|pretrained|weights|ckpt)|ckpt|"
    r"torch/serialization\.py\(\d+\): _?(legacy_)?save$|PyTorchFileWriter|safetensors|distributed/checkpoint",
    re.IGNORECASE,
)
#: The same libraries read what they have written.
_READING: Final = re.compile(r"(?<![a-z])_?(load|restore|read|open|resume|find|latest)(?![a-z])", re.IGNORECASE)


def is_saving(name: str) -> bool:
    """Whether a function or range with this name saves something."""
    return phase_of(name) == "saving" or bool(_SAVING.search(name) and not _READING.search(name))


def saves(doing: Doing) -> bool:
    """Whether the function around such work saves, or most of what is named within it."""
    every = (*doing.parts, *doing.beside)
    saving = sum(share for name, share in every if is_saving(name))
    return is_saving(doing.name) or (saving > 0 and 2 * saving > doing.told)
