"""Names of a map that neither recording knows: what was meant by them did not happen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from stepscope.analyses.host.modules import MARK
from stepscope.comparison.comparable import RecordedDifference
from stepscope.language import said
from stepscope.model.trace import Trace

_KNOWN_SQL: Final = "SELECT name FROM names WHERE name IN (SELECT unnest($names))"
_EFFECT: Final = said("no such operator, module or kernel: the entry of the map has no effect; check its spelling")
#: Names listed, at most.
_LISTED: Final = 5


def unused_names(base: Trace, new: Trace, names: Mapping[str, str]) -> tuple[RecordedDifference, ...]:
    """What is said of the names of a map that do not occur: those of the base in the base, the others in the new one.

    Args:
        base: One side.
        new: The other.
        names: Names of the new side by those of the base.
    """
    missing = {
        said("names that the base lacks"): sorted(set(names) - _known(base, names)),
        said("names that the new side lacks"): sorted(set(names.values()) - _known(new, names.values())),
    }
    return tuple(RecordedDifference(what, _listed(found), "", _EFFECT) for what, found in missing.items() if found)


def _known(trace: Trace, names: Iterable[str]) -> set[str]:
    wanted = {prefix + one: one for one in names for prefix in ("", MARK)}
    return {wanted[row["name"]] for row in trace.rows(_KNOWN_SQL, {"names": list(wanted)})} if wanted else set()


def _listed(names: list[str]) -> str:
    first, left = ", ".join(names[:_LISTED]), len(names) - _LISTED
    return said("{names} and {left} more", names=first, left=left) if left > 0 else first
