"""Classify the names of device activities, each once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepscope.ingest.derive.names.texts import names_of
from stepscope.ingest.derive.work import Work
from stepscope.model.kernel_names import KernelClass, classify
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class NameClasses:
    """Classes of the m distinct names of device activities.

    Attributes:
        name_id: int32[m], ascending.
        names: The names.
        classes: The class of each.
    """

    name_id: NDArray[np.int32]
    names: list[str]
    classes: list[KernelClass]


def classify_names(staging: Staging, work: Work) -> NameClasses:
    """Classify the names of all device work; safe to run beside the nesting of host threads."""
    name_id = np.unique(work.numbers("name_id"))
    with staging.connection.cursor() as connection:
        names = names_of(connection, name_id)
    return NameClasses(name_id, names, [classify(name) for name in names])
