"""What the names of device activities tell, once for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.model.kernel_names import KernelClass, classify
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMES_SQL: Final = """
SELECT name_id, name FROM (SELECT DISTINCT name_id FROM device_work) JOIN names USING (name_id) ORDER BY name_id
"""


@dataclass(frozen=True, slots=True)
class NameClasses:
    """The m names of device activities.

    Attributes:
        name_id: int32[m], ascending.
        names: The names.
        classes: What each tells.
    """

    name_id: NDArray[np.int32]
    names: list[str]
    classes: list[KernelClass]


def classify_names(staging: Staging) -> NameClasses:
    """Classify the names of all device work; may run beside the nesting of host threads."""
    with staging.connection.cursor() as connection:
        rows = connection.execute(_NAMES_SQL).fetchall()
    names = [name for _, name in rows]
    return NameClasses(np.array([number for number, _ in rows], np.int32), names, [classify(name) for name in names])
