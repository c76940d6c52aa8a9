"""What every event of a rank lies in, so that what is around one is found without a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.trace import Trace

_SQL: Final = "SELECT id, parent FROM spans WHERE parent IS NOT NULL"
#: Levels that are followed: broken recordings may have many.
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Parents:
    """The nearest enclosing event of each event.

    Attributes:
        of: Its id by id, int32[n]; -1 for none, and ids from n on have none.
    """

    of: NDArray[np.int32]

    @classmethod
    def read(cls, trace: Trace) -> Parents:
        """Those of a rank's events."""
        rows = trace.columns(_SQL, many=True)
        ids, parents = rows["id"], rows["parent"]
        of = np.full(int(ids.max(initial=-1)) + 1, -1, np.int32)
        of[ids] = parents
        return cls(of)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.of.nbytes

    def around(self, event: int) -> list[int]:
        """Ids of what is around an event, from the nearest to the outermost."""
        found: list[int] = []
        while len(found) < _MOST and 0 <= event < self.of.size and (event := int(self.of[event])) >= 0:
            found.append(event)
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As arrays to save."""
        return {"of": self.of}
