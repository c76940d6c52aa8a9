"""Load snapshots from pickles, staging their histories on the way."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from stepscope.language import said
from stepscope.readers.memsnapshot.contents import Loaded, contents_of, salvaged
from stepscope.readers.memsnapshot.guard import MemoryGuard
from stepscope.readers.memsnapshot.history import History
from stepscope.readers.memsnapshot.validated_pickle import ValidatedPickle


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler of plain values only: no class, function or object by name or id.

    A second line of defence: `ValidatedPickle` already refuses every operation that would ask for one.
    """

    def __init__(self, stream: ValidatedPickle, batch: Callable[[Any], None]) -> None:
        super().__init__(stream)
        self._batch = batch

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise pickle.UnpicklingError(
            said("{module_name}.{global_name} is not admitted", module_name=module_name, global_name=global_name)
        )

    def persistent_load(self, pid: Any) -> Any:
        """Called by `ValidatedPickle` when a list got a batch of dictionaries; returns the list."""
        self._batch(pid)
        return pid


def load_pickle(blocks: Iterator[bytes], history: History, label: str, *, each: bool = False) -> Loaded:
    """Load a pickled snapshot, as far as possible if it is truncated.

    Args:
        blocks: The pickle.
        history: Receives its entries.
        label: The file's name in errors.
        each: Keep every complete segment of a truncated list, which picklers write 1000 at a time: takes longer.

    Raises:
        UnusableInputError: It is no snapshot, or holds nothing usable.
    """
    guard = MemoryGuard(label)
    unpickler = _PlainUnpickler(ValidatedPickle(blocks, guard, label, each=each), history.batch)
    try:
        top = unpickler.load()
    except EOFError:
        return salvaged(history, "the file ends in the middle or is damaged")
    except pickle.UnpicklingError as error:
        if "truncated" in str(error):
            return salvaged(history, "the file ends in the middle or is damaged")
        return salvaged(history, said("the pickle is damaged ({error})", error=error))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        return salvaged(
            history, said("the pickle is damaged ({name}: {error})", name=type(error).__name__, error=error)
        )
    return contents_of(top, history)
