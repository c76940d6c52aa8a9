"""Ways to damage bytes: those that disks, networks and killed jobs have, and those that break what text must be.

Databases, tables and trees are damaged in what they say, too: `structure`, `tables`, `trees`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import PurePath
from typing import Final

from bench.damage import structure, tables, trees
from bench.damage.recordings import Recording

Mutation = Callable[[bytearray, random.Random], None]

#: After these, bytes are missing: what is left may be as good a recording as any, with fewer rows.
REMOVING: Final = ("cut", "empty", "drop", *structure.REMOVING, *tables.REMOVING, *trees.REMOVING)
#: What damages the structure of files, by the ends of their names; every other mutation of them is such a one.
STRUCTURAL: Final = {
    ".db": structure.mutate_database, ".sqlite": structure.mutate_database, ".csv": structure.mutate_table,
    ".json": trees.mutate_json, ".pickle": trees.mutate_pickle, ".parquet": tables.mutate_parquet,
}  # fmt: skip
_OFTEN: Final = 0.5
#: What a value is replaced by, or put beside one.
_WORDS: Final = (
    b"NaN", b"-Infinity", b"1e999", b"-1", b"0", b"9223372036854775808", b"null", b"true", b'"x"', b"[]", b"{}", b"N/A",
    b"\\u0000", b"\xff\xfe", b"\x00", b'"', b"\\", b",", b"}", b"]", b"\n",
)  # fmt: skip


def _place(data: bytearray, chance: random.Random, longest: int) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.randint(1, longest))


def flip_a_bit(data: bytearray, chance: random.Random) -> None:
    """One bit is another."""
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut(data: bytearray, chance: random.Random) -> None:
    """The end is missing, as after a killed job or a full disk."""
    del data[chance.randrange(len(data) + 1) :]


def empty(data: bytearray, chance: random.Random) -> None:
    """Nothing is left."""
    del chance
    data.clear()


def zero(data: bytearray, chance: random.Random) -> None:
    """A block of zeros, as after a crash of the machine."""
    start, end = _place(data, chance, 4096)
    data[start:end] = bytes(end - start)


def scramble(data: bytearray, chance: random.Random) -> None:
    """A block of random bytes."""
    start, end = _place(data, chance, 512)
    data[start:end] = chance.randbytes(end - start)


def drop(data: bytearray, chance: random.Random) -> None:
    """A block is missing."""
    start, end = _place(data, chance, 512)
    del data[start:end]


def repeat(data: bytearray, chance: random.Random) -> None:
    """A block is there twice."""
    start, end = _place(data, chance, 2048)
    data[end:end] = data[start:end]


def swap(data: bytearray, chance: random.Random) -> None:
    """Two blocks have changed places."""
    first, second = sorted((_place(data, chance, 256), _place(data, chance, 256)))
    if first[1] <= second[0]:
        data[first[0] : second[1]] = (
            data[second[0] : second[1]] + data[first[1] : second[0]] + data[first[0] : first[1]]
        )


def insert_a_word(data: bytearray, chance: random.Random) -> None:
    """A value stands where none may."""
    start = chance.randrange(len(data) + 1)
    data[start:start] = chance.choice(_WORDS)


def replace_a_number(data: bytearray, chance: random.Random) -> None:
    """A number, or what looks like one, is something else."""
    start = chance.randrange(len(data) + 1)
    while start < len(data) and not chr(data[start]).isdigit():
        start += 1
    end = start
    while end < len(data) and (chr(data[end]).isdigit() or data[end] == ord(".")):
        end += 1
    data[start:end] = chance.choice(_WORDS)


MUTATIONS: Final[tuple[Mutation, ...]] = (
    flip_a_bit, flip_a_bit, cut, empty, zero, scramble, drop, repeat, swap, insert_a_word, replace_a_number,
    replace_a_number,
)  # fmt: skip


def damaged(recording: Recording, number: int, seed: int) -> tuple[Recording, str]:
    """The recording with so many mutations, and which they are."""
    chance = random.Random(seed)
    files = {name: bytearray(content) for name, content in recording.files.items()}
    said = []
    for _ in range(number):
        name = chance.choice(sorted(files))
        structural = STRUCTURAL.get(PurePath(name).suffix)
        done = structural(files[name], chance) if structural and chance.random() < _OFTEN else None
        if done:
            said.append(f"{done} in {name}")
            continue
        mutation = chance.choice(MUTATIONS)
        mutation(files[name], chance)
        said.append(f"{mutation.__name__} in {name}")
    return Recording(recording.source, {name: bytes(data) for name, data in files.items()}, recording.given), "; ".join(
        said
    )
