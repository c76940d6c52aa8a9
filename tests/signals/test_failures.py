"""Signals of recordings that lack what is usually there, and signals that fail."""

from __future__ import annotations

import gc
import weakref

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals.host.synchronisation import launches
from stepscope.signals.signal import Signals, signal
from support import Facts


@signal()
def broken(s: Signals) -> int:
    """Fails."""
    return 1 // s.rank


def test_a_launch_whose_duration_is_missing() -> None:
    f = Facts()
    f.step(0, 0, 1000)
    for ts in (10, 20):
        call = f.correlation()
        f.host("launch", "cudaLaunchKernel", ts, None, correlation=call)
        f.kernel("gemm", ts + 100, 50, launch=call, kind="compute")
    assert Signals.of(f.trace())(launches) == 2


def test_what_fails_is_as_good_as_missing_unless_asked_to_be_strict() -> None:
    sealed = Signals().sealed([broken])
    with pytest.raises(MissingInputError, match="ZeroDivisionError"):
        sealed(broken)
    with pytest.raises(ZeroDivisionError):
        Signals().sealed([broken], strict=True)


def test_sealed_signals_do_not_keep_the_trace() -> None:
    @signal()
    def lacking(s: Signals) -> int:
        """Never there."""
        raise MissingInputError("nothing of it", hint=s.trace.ranks and "record it")

    signals = Signals.of(Facts().trace())
    assert signals.maybe(lacking) is None
    kept = weakref.ref(signals.trace)
    sealed = signals.sealed([lacking])
    assert signals.maybe(lacking) is None
    del signals
    gc.collect()
    assert kept() is None
    with pytest.raises(MissingInputError, match="nothing of it; record it"):
        sealed(lacking)


class Held:
    """What a weak reference can be made to."""


def test_what_is_missing_keeps_nothing_of_what_was_worked_on() -> None:
    """However often it is asked for: raising an error adds frames to its traceback."""
    held: list[weakref.ref[Held]] = []

    def look() -> None:
        large = Held()
        held.append(weakref.ref(large))
        raise MissingInputError("nothing of it")

    @signal()
    def lacking(_: Signals) -> int:
        """Never there."""
        look()
        return 0

    def ask(signals: Signals) -> None:
        large = Held()
        held.append(weakref.ref(large))
        assert signals.maybe(lacking) is None

    signals = Signals.of(Facts().trace())
    for _ in range(2):
        ask(signals)
    gc.collect()
    assert [one() for one in held] == [None] * 3
