"""See what the program gives loaders, optimizers and wrappers, and change arguments as remedies say."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any

from stepscope.trying.job.place import place_of_caller
from stepscope.trying.seen import Constructed

#: Changes arguments of a kind of interface; by the name of the remedy.
Edits = list[tuple[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]]


class Constructors:
    """Stands around `__init__` of classes of torch's.

    Args:
        edits: By kind of interface, what remedies change.
        applied: Called with the name of a remedy that changed something.
    """

    def __init__(self, edits: Mapping[str, Edits], applied: Callable[[str], None]) -> None:
        self._edits = edits
        self._applied = applied
        self._going_on = threading.local()
        self.made: list[Constructed] = []

    def see(self, owner: Any, kind: str, facts: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        """Stand around a class's `__init__`.

        Args:
            owner: The class.
            kind: Kind of interface.
            facts: More about an object, from its arguments.
        """
        plain = owner.__init__
        signature = inspect.signature(plain)

        @functools.wraps(plain)
        def constructed(instance: Any, *args: Any, **kwargs: Any) -> None:
            inner = getattr(self._going_on, "one", None)
            if inner is instance:
                # A class above of one that is seen already.
                plain(instance, *args, **kwargs)
                return
            self._going_on.one = instance
            try:
                args, kwargs = self._changed(owner, kind, signature, facts, (instance, *args), kwargs)
                plain(*args, **kwargs)
            finally:
                self._going_on.one = inner

        owner.__init__ = constructed

    def _changed(
        self, owner: Any, kind: str, signature: inspect.Signature, facts: Any, args: Any, kwargs: Any
    ) -> tuple[Any, Any]:
        """The arguments to construct with; those of the program if they can't be understood."""
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return args, kwargs
        empty = inspect.Parameter.empty
        defaults = {name: one.default for name, one in signature.parameters.items() if one.default is not empty}
        given = {**defaults, **bound.arguments}
        known = facts(given)
        changed: dict[str, Any] = {}
        for name, edit in self._edits.get(kind, []):
            wanted = {key: value for key, value in edit({**given, **known, **changed}).items() if key in given}
            wanted = {key: value for key, value in wanted.items() if given.get(key) != value}
            if wanted:
                self._applied(name)
                changed |= wanted
        self._note(owner.__name__, kind, given, changed, known)
        if not changed:
            return args, kwargs
        bound.arguments.update(changed)
        return bound.args, bound.kwargs

    def _note(
        self, interface: str, kind: str, given: Mapping[str, Any], changed: dict[str, Any], known: dict[str, Any]
    ) -> None:
        file, line = place_of_caller()
        simple = {
            name: value for name, value in given.items() if value is None or isinstance(value, (bool, int, float, str))
        }
        one = Constructed(interface, kind, file, line, simple, changed, known)
        for other in self.made:
            if (other.interface, other.file, other.line, other.changed) == (interface, file, line, changed):
                other.count += 1
                return
        self.made.append(one)


def see_interfaces(constructors: Constructors) -> None:
    """See loaders, optimizers and the wrapper for data parallelism."""
    import torch
    from torch.utils.data import DataLoader

    constructors.see(DataLoader, "loader", _of_loader)
    for name in dir(torch.optim):
        owner = getattr(torch.optim, name)
        if isinstance(owner, type) and issubclass(owner, torch.optim.Optimizer) and owner is not torch.optim.Optimizer:
            constructors.see(owner, "optimizer", lambda _: {})
    constructors.see(torch.nn.parallel.DistributedDataParallel, "ddp", _of_wrapper)


def _of_wrapper(arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        trained = [one for one in arguments["module"].parameters() if one.requires_grad]
        return {"bytes": sum(one.numel() * one.element_size() for one in trained)}
    except (KeyError, AttributeError, RuntimeError, ValueError):
        return {}  # no module, or parameters without a size yet


def _of_loader(arguments: Mapping[str, Any]) -> dict[str, Any]:
    from torch.utils.data import IterableDataset

    return {"iterable": isinstance(arguments.get("dataset"), IterableDataset)}
