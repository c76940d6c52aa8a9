"""Calls of models are seen without a hook: where the class looks its `__call__` up."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Hashable
from typing import Any

import pytest

from stepscope.record.job import models
from stepscope.record.job.unseen import Watched


class Module:
    def __init__(self, *inside: Module) -> None:
        self.inside = inside

    def _wrapped_call_impl(self) -> Any:
        return self._call_impl()

    def _call_impl(self) -> Any:
        return self.forward()

    __call__ = _wrapped_call_impl

    def forward(self) -> Any:
        return [one() for one in self.inside]


class Outer(Module):
    pass


class Compiled(Module):
    def __call__(self) -> Any:
        return super().__call__()


@pytest.fixture
def seen() -> Any:
    called: list[Hashable] = []
    found = models.Models(called.append)
    found.see(Module)
    yield found, called
    found.leave()
    assert all(
        "__call__" not in kind.__dict__ or type(kind.__dict__["__call__"]) is type(print_nothing) for kind in KINDS
    )


def print_nothing() -> None:
    """A function, whose type is compared."""


KINDS = (Module, Outer, Compiled)


def test_calls_that_lie_in_no_other(seen: Any) -> None:
    _, called = seen
    inner = Module()
    outer = Outer(inner, Outer(inner))
    for _ in range(3):
        outer()
    assert called == 3 * [id(outer)]
    inner()
    assert called[3:] == [id(inner)]


def test_a_class_that_calls_through_another_is_told_once(seen: Any) -> None:
    _, called = seen
    compiled = Compiled(Module())
    compiled()
    compiled()
    assert called == 2 * [id(compiled)]


def test_what_looks_the_method_up_finds_the_one_that_was_there(seen: Any) -> None:
    _, called = seen
    outer = Outer()
    outer()
    assert type(Outer.__dict__["__call__"]) is Watched
    assert Module.__call__ is Outer.__call__ is Module._wrapped_call_impl
    assert outer.__call__.__func__ is Module._wrapped_call_impl
    assert Compiled.__call__ is Compiled.__dict__["__call__"]
    assert called == [id(outer)]
    assert vars(outer) == {"inside": ()}
    assert type(pickle.loads(pickle.dumps(outer))) is type(copy.deepcopy(outer)) is Outer


def test_what_somebody_patches_counts(seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `torch.fx` does while it traces, which puts back what it found."""
    _, called = seen
    outer = Outer()
    outer()
    monkeypatch.setattr(Module, "__call__", lambda _: "patched")
    assert outer() == "patched"
    assert called == 2 * [id(outer)]


def test_not_every_call_is_looked_at_for_good(seen: Any) -> None:
    found, called = seen
    outer = Outer(Module(), Module())
    for _ in range(models._CALLS + 10):
        outer()
    assert type(Module.__dict__["__call__"]) is not Watched
    assert len(called) == models._CALLS + 10
    found.leave()
    outer()
    assert len(called) == models._CALLS + 10
