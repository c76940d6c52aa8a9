"""Modules are found without the garbage collector, whose objects another thread may be filling."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Hashable
from typing import Any

import pytest

from stepscope.record.job import models


class Handle:
    def __init__(self, hooked: list[Any], module: Any) -> None:
        self.remove = lambda: hooked.remove(module)


def module_class(hooked: list[Any]) -> type:
    class Module:
        def __init__(self, **children: Any) -> None:
            self._modules = children
            self._forward_pre_hooks: dict[int, Any] = {}

        def __setstate__(self, state: dict[str, Any]) -> None:
            self.__dict__.update(state)

        def register_forward_pre_hook(self, _: Any) -> Handle:
            hooked.append(self)
            return Handle(hooked, self)

    return Module


def test_those_in_no_other_then_those_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    hooked: list[Any] = []
    called: list[Hashable] = []
    found = models.Models(called.append)
    module = module_class(hooked)
    found.see(module)
    monkeypatch.setattr(gc, "get_objects", None)
    inner = module()
    outer = module(inner=inner, none=None)
    copied = copy.copy(inner)
    found.look(0)
    assert hooked == [outer, copied]
    found.look(1)
    assert hooked == [outer, copied, inner]
    found.leave()
    assert hooked == []


def test_notes_of_modules_that_are_gone_are_forgotten() -> None:
    found = models.Models(print)
    module = module_class([])
    found.see(module)
    kept = module()
    for _ in range(3 * models._FEW):
        module()
    assert len(found._made) <= models._FEW + 1
    assert any(one() is kept for one in found._made)


def test_a_pickled_mark_leaves_arguments_as_they_are() -> None:
    mark = pickle.loads(pickle.dumps(models.CallMark(print)))
    assert mark("module", ("a",)) == ("a",)
