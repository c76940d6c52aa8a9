from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.data import data
from stepscope.signals.host import one_time
from support import Facts

MS = 1_000_000


def batch(facts: Facts, start_ms: int, kernels: int = 4) -> None:
    for number in range(kernels):
        at = (start_ms + 2 * number) * MS
        facts.kernel("gemm", at + 50_000, MS, launch=(at, 10_000))


def test_without_steps_the_devices_work_was_to_be_measured() -> None:
    facts = Facts()
    facts.host("dataloader", "enumerate(DataLoader)#_X.__next__", 0, 100 * MS)
    batch(facts, 100)
    found = Signals.of(facts.trace(reader="kineto"))(one_time.measured)
    assert (found.ns, found.loop, found.chosen) == (4 * MS, False, True)
    assert found.dwarfed_by(12 * MS)
    assert not found.dwarfed_by(12 * MS - 1)


def test_three_typical_steps_are_a_loop() -> None:
    facts = Facts()
    for step in range(3):
        facts.step(step, step * 20 * MS, 20 * MS)
        batch(facts, step * 20 + 1)
    assert Signals.of(facts.trace())(one_time.measured).loop


def test_first_calls_first_launches_and_nothing_else_are_first_use() -> None:
    facts = Facts()
    context = facts.host("runtime", "cudaMalloc", 0, 300 * MS)
    facts.host("runtime", "cudaMalloc", 310 * MS, 5 * MS)  # not the first
    facts.kernel("gemm", 400 * MS, MS, launch=(350 * MS, 50 * MS))  # loads its module
    facts.host("sync", "cudaDeviceSynchronize", 402 * MS, 90 * MS)  # waits, and loads nothing
    facts.kernel("gemm", 500 * MS, MS, launch=(499 * MS, 10_000))
    facts.kernel("copy", 520 * MS, 40 * MS, launch=(510 * MS, 50 * MS), kind="copy")
    found = Signals.of(facts.trace())(one_time.first_use)
    assert (found.total_ns, found.name, found.longest_ns, found.count) == (350 * MS, "cudaMalloc", 300 * MS, 2)
    assert found.events[0] == context


@pytest.mark.parametrize(
    ("before_ms", "category", "name", "found_ms"),
    [
        (200, "", "", 200),
        (90, "", "", 0),
        (200, "annotation", "load sample", 0),
        (200, "dataloader", "enumerate(DataLoader)#_X.__next__", 0),
        (200, "overhead", "Lazy Function Loading", 200),
    ],
)
def test_a_long_start_is_untold_where_nothing_names_it(before_ms: int, category: str, name: str, found_ms: int) -> None:
    facts = Facts()
    facts.host("op", "aten::empty", 0, 1000)
    if category:
        facts.host(category, name, 2000, before_ms * MS - 3000)
    batch(facts, before_ms)
    found = Signals.of(facts.trace(reader="kineto"))(one_time.untold_start)
    assert found == pytest.approx(found_ms * MS, abs=MS)


def test_a_start_that_does_not_dwarf_the_work_is_none() -> None:
    facts = Facts()
    facts.host("op", "aten::empty", 0, 1000)
    batch(facts, 200, kernels=80)
    assert Signals.of(facts.trace(reader="kineto"))(one_time.untold_start) == 0


def test_compilation_is_no_first_use() -> None:
    facts = Facts()
    facts.host("annotation", "_compile.compile_inner (dynamo_timed)", 0, 300 * MS)
    facts.host("runtime", "cudaMalloc", 100 * MS, 50 * MS)
    batch(facts, 400)
    assert Signals.of(facts.trace())(one_time.first_use).total_ns == 0


@pytest.mark.parametrize(
    ("waits_ms", "alone"), [((5000,), True), ((5000, 1), True), ((5000, 1, 1), True), ((50, 50), False),
                            ((5000, 1, 1, 1), False)],
)  # fmt: skip
def test_waits_that_cannot_be_compared_are_lone(waits_ms: tuple[int, ...], alone: bool) -> None:
    facts, at = Facts(), 0
    for wait in waits_ms:
        facts.host("dataloader", "enumerate(DataLoader)#_X.__next__", at * MS, wait * MS)
        batch(facts, at + wait)
        at += wait + 10
    assert Signals.of(facts.trace())(data.lone) is alone
