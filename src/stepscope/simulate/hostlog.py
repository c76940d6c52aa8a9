"""Log of host states: contiguous intervals, dropped once no longer needed."""

from __future__ import annotations

from bisect import bisect_right

from stepscope.simulate import causes


class HostLog:
    """Contiguous intervals of host time, each with one cause.

    ``ends[i]`` is the end of interval ``i`` of kind ``kinds[i]``; it starts where the one before ended.
    """

    __slots__ = ("ends", "kinds")

    def __init__(self) -> None:
        self.ends: list[int] = [0]
        self.kinds: list[int] = [causes.UNKNOWN]

    def add(self, end: int, kind: int) -> None:
        """Append an interval of ``kind`` that ends at ``end``."""
        if self.kinds[-1] == kind:
            self.ends[-1] = end
        elif end > self.ends[-1]:
            self.ends.append(end)
            self.kinds.append(kind)

    def between(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Intervals (start, end, kind) that cover ``[start, end)``; ``UNKNOWN`` after the log's end."""
        intervals = []
        index = bisect_right(self.ends, start)
        while start < end:
            if index >= len(self.ends):
                intervals.append((start, end, causes.UNKNOWN))
                break
            until = min(end, self.ends[index])
            intervals.append((start, until, self.kinds[index]))
            start = until
            index += 1
        return intervals

    def forget(self, before: int) -> None:
        """Drop intervals that ended before a time."""
        keep = min(bisect_right(self.ends, before), len(self.ends) - 1)
        if keep > 4096:
            del self.ends[:keep]
            del self.kinds[:keep]
