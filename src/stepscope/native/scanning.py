"""Scan the objects of a JSON list into columns (`source/scan.c`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.native.instance import Array, Instance

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Stands for a number that an object lacks, and for one whose text is among `Rows.odd`.
ABSENT: Final = -(2**63)
ODD: Final = ABSENT + 1

#: Most numbers of a batch that are not written plainly, and most distinct texts and combinations, each a power of two.
_MOST_ODD: Final = 1 << 14
_MOST_TEXTS: Final = 1 << 16
_MOST_COMBINATIONS: Final = 1 << 15
#: Bytes behind a text that the scanner writes to.
_MARGIN: Final = 64


class Kind(IntEnum):
    """How a member's value is read."""

    TEXT = 0
    INTEGER = 1
    THOUSANDTHS = 2


@dataclass(frozen=True, slots=True)
class ScanMember:
    """A member of the objects that is read.

    Attributes:
        key: Its key, as written.
        kind: `TEXT` is the JSON text of any value, `INTEGER` an int64, `THOUSANDTHS` a fraction in thousandths.
        inner: Whether it stands in the inner object.
    """

    key: str
    kind: Kind
    inner: bool = False


@dataclass(frozen=True, slots=True)
class ScanLayout:
    """What is read of objects.

    Attributes:
        members: Their members; an object without the first one, a text, is no row.
        inner_key: The member that is an object of which members are read, too, and whose text is kept.
        combinations: Names of sets of texts that are numbered together, with the keys of these texts.
    """

    members: tuple[ScanMember, ...]
    inner_key: str
    combinations: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Combination:
    """Texts that occur together in a batch of rows.

    Attributes:
        numbers: int32[n], position of each row's texts in `texts`; undefined for broken rows.
        texts: The JSON texts of each distinct combination, in the order of their first rows; None for what is absent
            or null.
    """

    numbers: NDArray[np.int32]
    texts: list[tuple[bytes | None, ...]]


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch of objects, n rows.

    Attributes:
        start: int32[n], where each row's text starts.
        end: int32[n], where it ends; what is broken ends where the next object may begin.
        stop: Where the text goes on that is not read yet.
        cut: Whether that is one object which does not end in the text.
        broken: bool[n], whether the row is text that is no object; nothing else is known of it then.
        others: Number of objects that are no rows, but for those right behind a broken one.
        numbers: int64[n] by key: `ABSENT`, `ODD` or the number.
        odd: Numbers that are not written plainly: row, key and JSON text.
        combined: The combinations by name.
        inner_offsets: int32[n + 1], where each row's inner text starts in `inner_text`; it is empty for null and `{}`.
        inner_text: uint8[m].
    """

    start: NDArray[np.int32]
    end: NDArray[np.int32]
    stop: int
    cut: bool
    broken: NDArray[np.bool_]
    others: int
    numbers: dict[str, NDArray[np.int64]]
    odd: list[tuple[int, str, bytes]]
    combined: dict[str, Combination]
    inner_offsets: NDArray[np.int32]
    inner_text: NDArray[np.uint8]


class Scanner:
    """Scans texts of one layout, in a memory of its own; for one thread at a time.

    Args:
        layout: What is read.
        most_rows: Most rows of a batch.
    """

    def __init__(self, layout: ScanLayout, most_rows: int) -> None:
        self._instance = Instance()
        self._texts = [member.key for member in layout.members if member.kind == Kind.TEXT]
        self._numbers = [member.key for member in layout.members if member.kind != Kind.TEXT]
        self._layout = layout
        self._most_rows = most_rows
        self._place_results(layout, most_rows)
        self._text = self._inner_text = self._instance.room(np.uint8, 0)

    def room(self, size: int) -> NDArray[np.uint8]:
        """The memory of the text to be scanned next, uint8[>= size]; it is valid until `room` is called again.

        Raises:
            NativeError: So much does not fit.
        """
        if self._text.size < size + _MARGIN:
            # What was there before is not given back: the next one is at least twice as large.
            size = max(size, 2 * self._text.size)
            self._text = self._instance.room(np.uint8, size + _MARGIN)
            self._inner_text = self._instance.room(np.uint8, size)
        return self._text.array[:-_MARGIN]

    def last_start(self, size: int) -> int:
        """Where the last object begins that follows another one in the first `size` bytes; 0 if there is none."""
        return self._instance.call("last_start", self._text, size)

    def scan(self, start: int, stop: int, *, ended: bool, closed: bool, patience: int) -> Rows:
        """Scan a part of the text up to its end, or up to where another batch has to begin.

        Args:
            start: Where it starts: between two objects.
            stop: Where it ends.
            ended: Whether nothing follows.
            closed: Whether another object begins there, if none is cut.
            patience: Bytes that may be read in vain while looking for the end of what is broken.
        """
        control = self._control.array
        given = {"text": self._text.address + start, "size": stop - start, "ended": ended, "closed": closed,
                 "patience": patience, "inner_text": self._inner_text.address}  # fmt: skip
        for name, value in given.items():
            control[_FIELDS.index(name)] = value
        self._instance.call("scan", self._control)
        found = dict(zip(_FIELDS, control.tolist(), strict=True))
        return self._rows(found, start, self._words(found["words_size"]))

    def _place_results(self, layout: ScanLayout, most_rows: int) -> None:
        room, put = self._instance.room, self._instance.put

        def interned(most: int) -> tuple[list[int], tuple[Array[Any], ...]]:
            """The fields of a `struct interned`, and its arrays of starts and lengths."""
            starts, lengths, hashes = (room(dtype, most) for dtype in (np.int32, np.int32, np.uint64))
            return [0, most, *(one.address for one in (starts, lengths, hashes, room(np.int32, 2 * most)))], (
                starts,
                lengths,
            )

        self._start, self._end = room(np.int32, most_rows), room(np.int32, most_rows)
        self._broken = room(np.uint8, most_rows)
        self._values = room(np.int64, len(self._numbers) * most_rows)
        self._inner_offsets = room(np.int32, most_rows + 1)
        self._odd = room(np.int32, 4 * _MOST_ODD)
        word_fields, self._word_places = interned(_MOST_TEXTS)
        members, combinations = [], []
        self._combined: dict[str, tuple[Array[np.int32], Array[np.int32]]] = {}
        columns = {key: at for keys in (self._texts, self._numbers) for at, key in enumerate(keys)}
        for member in layout.members:
            key = put(np.frombuffer(member.key.encode(), np.uint8))
            members += [key.address, key.size, member.inner, member.kind, columns[member.key]]
        for name, keys in layout.combinations.items():
            texts = put(np.array([columns[key] for key in keys], np.int32))
            fields, _ = interned(_MOST_COMBINATIONS)
            numbers = room(np.int32, most_rows)
            # One more than there may be, since each is put there before it is looked for.
            tuples = room(np.int32, (_MOST_COMBINATIONS + 1) * len(keys))
            self._combined[name] = (numbers, tuples)
            combinations += [len(keys), texts.address, numbers.address, *fields, tuples.address]
        self._combinations = put(np.array(combinations, np.int32))
        inner_key = put(np.frombuffer(layout.inner_key.encode(), np.uint8))
        given = {
            "most_rows": most_rows, "most_odd": _MOST_ODD, "members": put(np.array(members, np.int32)).address,
            "member_count": len(layout.members), "inner_key": inner_key.address, "inner_key_length": inner_key.size,
            "text_count": len(self._texts), "number_count": len(self._numbers),
            "combinations": self._combinations.address, "combination_count": len(layout.combinations),
            "is_broken": self._broken.address, "start": self._start.address,
            "end": self._end.address, "numbers": self._values.address,
            "inner_offset": self._inner_offsets.address, "odd": self._odd.address,
            "texts": room(np.int32, len(self._texts)).address,
        }  # fmt: skip
        given |= dict(zip(_WORDS, word_fields, strict=True))
        # Nobody can choose texts that share their place in a table.
        given |= dict(zip(("seed_low", "seed_high"), np.frombuffer(os.urandom(8), np.int32).tolist(), strict=True))
        self._control = put(np.array([given.get(name, 0) for name in _FIELDS], np.int32))

    def _words(self, size: int) -> list[bytes | None]:
        """The distinct texts, and None."""
        starts, lengths = (one.array[:size].tolist() for one in self._word_places)
        raw = self._text.array.data
        base = self._text.address
        return [*(bytes(raw[at - base : at - base + n]) for at, n in zip(starts, lengths, strict=True)), None]

    def _rows(self, found: dict[str, int], first: int, words: list[bytes | None]) -> Rows:
        n = found["rows"]
        offsets = self._inner_offsets.array[: n + 1].copy()
        values = self._values.array.reshape(-1, self._most_rows)
        combined = {}
        sizes = self._combinations.array.reshape(-1, 10)[:, 3].tolist()
        for (name, keys), size in zip(self._layout.combinations.items(), sizes, strict=True):
            numbers, tuples = self._combined[name]
            distinct = tuples.array[: size * len(keys)].reshape(-1, len(keys)).tolist()
            texts = [tuple([words[number] for number in one]) for one in distinct]
            combined[name] = Combination(numbers.array[:n].copy(), texts)
        odd = self._odd.array[: 4 * found["odds"]].reshape(-1, 4).tolist()
        raw, base = self._text.array.data, self._text.address
        return Rows(
            start=self._start.array[:n] + np.int32(first),
            end=self._end.array[:n] + np.int32(first),
            stop=first + found["at"],
            cut=bool(found["cut"]),
            broken=self._broken.array[:n].astype(np.bool_),
            others=found["others"],
            numbers={key: values[at, :n].copy() for at, key in enumerate(self._numbers)},
            odd=[
                (row, self._numbers[column], bytes(raw[at - base : at - base + length]))
                for row, column, at, length in odd
            ],
            combined=combined,
            inner_offsets=offsets,
            inner_text=self._inner_text.array[: int(offsets[-1])].copy(),
        )


#: The fields of `struct interned`.
_WORDS: Final = ("words_size", "words_most", "words_start", "words_length", "words_hash", "words_table")
#: The fields of `struct scan`, each of 32 bits, as are pointers.
_FIELDS: Final = (
    "text", "size", "ended", "closed", "patience", "most_rows", "most_odd", "members", "member_count", "inner_key",
    "inner_key_length", "text_count", "number_count", "combinations", "combination_count", "seed_low", "seed_high",
    "at", "cut", "rows", "odds", "others", "is_broken", "start", "end", "numbers", "inner_offset", "inner_text", "odd",
    *_WORDS, "texts",
)  # fmt: skip
