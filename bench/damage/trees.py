"""Ways to damage what JSON and pickles say: values of wrong types, names that are gone, twice, others or endless."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

#: What stands in the place of a value.
VALUES: Final[tuple[Any, ...]] = (
    None, True, "x", "", "12", "N/A", "NaN", float("nan"), float("inf"), -float("inf"), 1e308, 0, -1, 2**31, 2**63 - 1,
    -(2**63), 2**64, 10**40, 1.5, [], {}, [None], {"x": None}, [[]] * 3,
)  # fmt: skip
#: What is added to a number.
_SHIFTS: Final = (9 * 10**18, -9 * 10**18, 10**15, -1)
_LONG: Final = 70_000
_DEEP: Final = 2_000
_MOST: Final = 6

#: A place in a tree: a dictionary or list and one of its keys or positions.
Place = tuple[Any, Any]
TreeMutation = Callable[[list[Place], random.Random], None]


def _places(top: Any) -> Iterator[Place]:
    waiting = [top]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in keys:
            yield node, key
            if isinstance(node[key], (dict, list)):
                waiting.append(node[key])


def set_values(places: list[Place], chance: random.Random) -> None:
    """Some values are something else."""
    for node, key in chance.sample(places, min(len(places), chance.randint(1, _MOST))):
        node[key] = chance.choice(VALUES)


def set_all_of_a_name(places: list[Place], chance: random.Random) -> None:
    """All values of a name are one other value."""
    _, name = chance.choice(places)
    value = chance.choice(VALUES)
    for node, key in places:
        if key == name and isinstance(node, dict):
            node[key] = value


def shift_numbers(places: list[Place], chance: random.Random) -> None:
    """Some numbers of a name are off by as much as 64 bits hold."""
    numbers = [(node, key) for node, key in places if type(node[key]) in (int, float)]
    for node, key in chance.sample(numbers, min(len(numbers), chance.randint(1, _MOST))):
        node[key] += chance.choice(_SHIFTS)


def lose_names(places: list[Place], chance: random.Random) -> None:
    """Some names are not there."""
    named = [(node, key) for node, key in places if isinstance(node, dict)]
    for node, key in chance.sample(named, min(len(named), chance.randint(1, _MOST))):
        node.pop(key, None)


def rename(places: list[Place], chance: random.Random) -> None:
    """A name is another one: that of a neighbour, none, or a long one."""
    named = [(node, key) for node, key in places if isinstance(node, dict)]
    node, key = chance.choice(named)
    node[chance.choice([chance.choice(list(node)), "", "x" * _LONG])] = node.pop(key)


def lengthen(places: list[Place], chance: random.Random) -> None:
    """A text is very long."""
    texts = [(node, key) for node, key in places if isinstance(node[key], str)]
    node, key = chance.choice(texts)
    node[key] = node[key] + "x" * _LONG


def nest_deeply(places: list[Place], chance: random.Random) -> None:
    """A value lies deep inside others."""
    node, key = chance.choice(places)
    for _ in range(chance.randint(1, _DEEP)):
        node[key] = [node[key]]


def repeat_items(places: list[Place], chance: random.Random) -> None:
    """Items of a list are there twice."""
    lists = [node[key] for node, key in places if isinstance(node[key], list) and node[key]]
    found = chance.choice(lists)
    found.extend(found[: chance.randint(1, len(found))])


TREE_MUTATIONS: Final[tuple[TreeMutation, ...]] = (
    set_values, set_values, set_values, set_all_of_a_name, shift_numbers, lose_names, rename, lengthen, nest_deeply,
    repeat_items,
)  # fmt: skip
#: After these, rows may be missing that nothing tells of.
REMOVING: Final = ("lose_names", "rename")


def _mutated(top: Any, chance: random.Random) -> str:
    mutation = chance.choice(TREE_MUTATIONS)
    mutation(list(_places(top)), chance)
    return mutation.__name__


def mutate_json(data: bytearray, chance: random.Random) -> str | None:
    """Damage what a JSON file says; what was done, None if its bytes are damaged already."""
    try:
        top = json.loads(data.decode())
        done = _mutated(top, chance)
        data[:] = json.dumps(top).encode()
    except (ValueError, IndexError, TypeError, RecursionError):
        return None
    return done


def mutate_pickle(data: bytearray, chance: random.Random) -> str | None:
    """Damage what a pickle that the simulator has written says; None if its bytes are damaged already."""
    try:
        top = pickle.loads(bytes(data))
        done = _mutated(top, chance)
        data[:] = pickle.dumps(top)
    except Exception:  # of damaged bytes a pickle raises anything
        return None
    return done
