"""Errors for files that are no recordings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepscope.ingest.written import Written
from stepscope.language import listing, pattern, said
from stepscope.model.errors import UnusableInputError, UserError
from stepscope.readers.ascend import raw as ascend_raw
from stepscope.readers.foreign import foreign, foreign_tables
from stepscope.readers.packing.damage import Damage
from stepscope.readers.protocol import Source
from stepscope.readers.sqlite.pages import MAGIC as SQLITE

_HINT: Final = (
    "give a recording of a profiler, such as trace.json or trace.json.gz of torch.profiler, or a folder of them"
)
#: How stepscope's own reports start.
_REPORT: Final = re.compile(rb'\s*\{\s*"schema":\s*"stepscope\.')
#: Most files named in the error if none of many is a recording.
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or one in an archive, that is no recording.

    Attributes:
        path: Where it is.
        why: The reason, as in "is empty".
        hint: What to do.
        unreadable: Whether it may be a recording after all.
    """

    path: Path
    why: str = said("is no recording that stepscope can read")
    hint: str = _HINT
    unreadable: bool = False

    @property
    def sentence(self) -> str:
        """What it is."""
        return said("{path} {why}", path=self.path, why=self.why)

    @property
    def error(self) -> UserError:
        """This as an error."""
        return UnusableInputError(self.sentence, hint=self.hint)


def is_report(head: bytes) -> bool:
    """Whether content that starts with `head` is a report of stepscope."""
    return _REPORT.match(head) is not None


def skipped(source: Source, head: bytes, damage: Damage) -> Skipped:
    """Describe a file that no reader recognises, whose unpacked content starts with `head`."""
    place = Path(str(source))
    if is_report(head):
        return Skipped(place, said("is what stepscope wrote about a recording"))
    if damage.messages and not head:
        hint = said("copy it again from where it was recorded")
        return Skipped(
            place,
            said("is damaged, and nothing in it can be read: {messages}", messages=damage.messages[-1]),
            hint,
            True,
        )
    found = foreign(Path(source.member) if source.member else source.path, head)
    if head.startswith(SQLITE):
        found = foreign_tables(_tables(source))
    return Skipped(place) if found is None else Skipped(place, said("is {what}", what=found.what), found.hint)


def of_gone(one: Written) -> Skipped:
    """Describe what stepscope wrote about recordings that are not there."""
    if not one.gone:
        return Skipped(one.path, said("is what stepscope wrote about a recording, and does not name it"))
    more = said(" and {gone:,} more", gone=len(one.gone) - 1) if len(one.gone) > 1 else ""
    return Skipped(
        one.path,
        said("is what stepscope wrote about {gone}{more}, which is no longer there", gone=one.gone[0], more=more),
        said("give the recording where it lies now"),
    )


def _tables(source: Source) -> frozenset[str]:
    """Table names of an unpacked database file; none if it is packed or damaged."""
    from stepscope.readers.sqlite.tables import SqliteTables

    if source.member:
        return frozenset()
    try:
        tables = SqliteTables(source.path)
    except UserError:
        return frozenset()
    try:
        return tables.names()
    finally:
        tables.close()


def nothing_in(paths: Sequence[Path], found: Sequence[Skipped]) -> UserError:
    """The error for an input without recordings: the kinds of its files, and what to do."""
    if not paths:
        return UserError("no path is given", hint=_HINT)
    raw = next((hint for path in paths if path.is_dir() and (hint := ascend_raw.hint(path))), None)
    listed = ", ".join(map(str, paths))
    if raw:
        return UserError(said("{listed} holds no recording that stepscope can read", listed=listed), hint=raw)
    if not found:
        empty = pattern("{listed} is an empty folder") if len(paths) == 1 else pattern("{listed} are empty folders")
        return UserError(said(empty, listed=listed), hint=_HINT)
    # Possible recordings come first.
    order = sorted(found, key=lambda one: not one.unreadable)
    described = listing((one.sentence for one in order[:_NAMED]), "; ")
    more = said("; and {order:,} more files", order=len(order) - _NAMED) if len(order) > _NAMED + 1 else ""
    if len(paths) == 1 and paths[0].is_file() and len(order) == 1:
        return UserError(described, hint=order[0].hint)
    where = (
        said("none of these is a recording")
        if len(paths) > 1
        else said("{listed} holds no recording that stepscope can read", listed=listed)
    )
    hints = {one.hint for one in order}
    return UserError(
        said("{where}: {described}{more}", where=where, described=described, more=more),
        hint=hints.pop() if len(hints) == 1 else _HINT,
    )
