"""Suggest similar names for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stepscope.language import pattern, said

#: Shortest name that is matched as a part of another one.
_SHORTEST: Final = 3
_NEAR: Final = (
    pattern("did you mean {first}"),
    pattern("did you mean {first} or {second}"),
    pattern("did you mean {first} or {second} or {third}"),
)
_PLACES: Final = ("first", "second", "third")


def choose(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """A hint for an unknown name: names that contain it, then similar ones, else `otherwise`, else all names."""
    from difflib import get_close_matches

    known = {known.lower(): known for known in names}
    similar = get_close_matches(name.lower(), known, n=3, cutoff=0.6)
    holding = [each for each in known if len(name) >= _SHORTEST and name.lower() in each]
    both = [each for each in similar if each in holding]
    near = list(dict.fromkeys((*both, *holding, *similar)))[: len(_NEAR)]
    if near:
        return said(_NEAR[len(near) - 1], **dict(zip(_PLACES, (known[each] for each in near), strict=False)))
    return otherwise or said("choose from {names}", names=", ".join(known.values()))
