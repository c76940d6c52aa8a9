"""Classify the names of device activities, each once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.work import RecordedWork
from stepscope.model.events.lookup import match
from stepscope.model.kernel_names import KernelClass, classify
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray


def names_of(connection: duckdb.DuckDBPyConnection, name_id: NDArray[Any]) -> list[str]:
    """The names with these ids, all of which must exist."""
    names = connection.sql("SELECT name_id, name FROM names").to_arrow_table()
    found: list[str] = names["name"].take(pa.array(match(names["name_id"].to_numpy(), name_id))).to_pylist()
    return found


@dataclass(frozen=True, slots=True)
class KernelClasses:
    """Classes of the m distinct names of device activities.

    Attributes:
        name_id: int32[m], ascending.
        names: The names.
        classes: The class of each.
    """

    name_id: NDArray[np.int32]
    names: list[str]
    classes: list[KernelClass]


def classify_names(staging: Staging, work: RecordedWork) -> KernelClasses:
    """Classify the names of all device work; safe to run beside the nesting of host threads."""
    name_id = np.unique(work.numbers("name_id"))
    with staging.connect() as connection:
        names = names_of(connection, name_id)
    return KernelClasses(name_id, names, [classify(name) for name in names])
