"""The rank or worker that made each recording: as recorded, else from names of files and folders."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Final

from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.names import rank_in, worker_in

_RANKS: Final = 2**31


def owners(found: Sequence[FoundRecordings]) -> list[Hashable]:
    """The rank (int) or worker (str) that made each recording; None where neither metadata nor names show it.

    The recorded rank, else a number in the name of the file or of a folder that not all have in common, else the worker
    in the name. The processes of one file can't be told apart by its name.
    """
    depth = len(common_folder(found).parts)
    return [_owner(one, len(one.path.parts) - 1 - depth, alone=len(found) == 1) for one in found]


def common_folder(found: Sequence[FoundRecordings]) -> Path:
    """The innermost folder that holds all recordings."""
    folders = [one.path.parent.parts for one in found]
    common = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return Path(*common)


def _owner(one: FoundRecordings, above: int, alone: bool) -> Hashable:
    rank = one.recording.rank
    if rank is not None and 0 <= rank < _RANKS:
        return rank
    if rank is not None or alone or one.only_part:
        return None
    named = rank_in(one.path, above)
    return worker_in(one.path) if named is None else named
