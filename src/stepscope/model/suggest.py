"""Suggest similar names for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

#: Shortest name that is matched as a part of another one.
_SHORTEST: Final = 3


def choose(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """A hint for an unknown name: the most similar names, else `otherwise`, else all names."""
    from difflib import get_close_matches

    known = {known.lower(): known for known in names}
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.6)
    if len(name) >= _SHORTEST:
        near += [each for each in known if name.lower() in each and each not in near][: 3 - len(near)]
    if near:
        return f"did you mean {' or '.join(known[each] for each in near)}"
    return otherwise or f"choose from {', '.join(known.values())}"
