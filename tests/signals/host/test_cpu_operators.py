from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.host import cpu_operators
from support import Facts


def stepped() -> Facts:
    facts = Facts()
    facts.step(1, 0, 10_000_000)
    for call in range(40):
        facts.host("op", "aten::t", call * 10_000, 1_000)
    facts.kernel("gemm", 500_000, 100_000, launch=(450_000, 4_000))
    return facts


def test_long_operators_that_launch_nothing_work_on_the_host() -> None:
    facts = stepped()
    outer = facts.host("op", "aten::argsort", 1_000_000, 3_010_000)
    facts.host("op", "aten::sort", 1_001_000, 3_000_000)
    facts.host("op", "aten::cumsum", 5_000_000, 1_000_000)
    s = Signals.of(facts.trace())
    assert s(cpu_operators.working).events.tolist() == [outer + 1, outer + 2]
    assert s(cpu_operators.working).names == ("aten::sort", "aten::cumsum")
    assert s(cpu_operators.working_share) == pytest.approx(0.4)


def test_short_ones_other_libraries_and_those_with_calls_inside_do_not_count() -> None:
    facts = stepped()
    facts.host("op", "aten::view", 1_000_000, 49_999)
    facts.host("op", "c10d::allreduce_", 1_500_000, 900_000)
    facts.host("op", "aten::empty", 2_500_000, 900_000)
    facts.host("runtime", "cudaMalloc", 2_500_100, 800_000)
    facts.host("op", "aten::mm", 3_500_000, 900_000)
    facts.kernel("gemm", 4_500_000, 100_000, launch=(3_600_000, 4_000))
    facts.host("op", "aten::item", 5_500_000, 900_000)
    facts.host("sync", "cudaStreamSynchronize", 5_500_100, 800_000)
    assert Signals.of(facts.trace())(cpu_operators.working).events.size == 0


def test_what_calls_others_shortly_does_its_work_itself() -> None:
    facts = stepped()
    gemm = facts.host("op", "aten::mm", 1_000_000, 900_000)
    facts.host("op", "aten::resolve_conj", 1_000_100, 500)
    sorted_ = facts.host("op", "aten::sort", 2_000_000, 900_000)
    facts.host("op", "aten::copy_", 2_000_100, 450_000)
    facts.host("op", "aten::clone", 3_000_000, 900_000)
    copied = facts.host("op", "aten::copy_", 3_000_100, 450_001)
    facts.host("op", "aten::add", 4_000_000, 900_000)
    facts.host("op", "aten::to", 4_000_100, 100_000)
    facts.host("op", "aten::copy_", 4_000_200, 90_000)
    facts.host("runtime", "cudaMemcpyAsync", 4_000_300, 80_000)
    found = Signals.of(facts.trace())(cpu_operators.working)
    assert found.events.tolist() == [gemm, sorted_, copied]


def test_ranges_and_functions_inside_are_no_calls() -> None:
    facts = stepped()
    slow = facts.host("op", "aten::sort", 1_000_000, 3_000_000)
    facts.host("annotation", "compare", 1_100_000, 500_000)
    facts.host("python", "<built-in function compare>", 2_100_000, 500_000)
    assert Signals.of(facts.trace())(cpu_operators.working).events.tolist() == [slow]


def test_what_the_loader_does_is_its_own_business() -> None:
    facts = stepped()
    facts.host("dataloader", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1_000_000, 2_000_000)
    facts.host("op", "aten::stack", 1_100_000, 1_800_000)
    after = facts.host("op", "aten::stack", 3_100_000, 1_800_000)
    assert Signals.of(facts.trace())(cpu_operators.working).events.tolist() == [after]


def test_where_everything_is_slow_an_operator_must_be_slower_still() -> None:
    facts = Facts()
    facts.step(1, 0, 10_000_000)
    for call in range(40):
        facts.host("op", "aten::t", call * 100_000, 60_000)
    slow = facts.host("op", "aten::sort", 5_000_000, 700_000)
    facts.kernel("gemm", 500_000, 100_000, launch=(490_000, 4_000))
    assert Signals.of(facts.trace())(cpu_operators.working).events.tolist() == [slow]


def test_without_a_device_all_operators_do() -> None:
    facts = Facts()
    facts.step(1, 0, 1000)
    facts.host("op", "aten::mm", 0, 900)
    with pytest.raises(MissingInputError, match="no device activity"):
        Signals.of(facts.trace())(cpu_operators.working)


def test_without_links_all_operators_seem_to_launch_nothing() -> None:
    facts = Facts()
    facts.step(1, 0, 10_000_000)
    facts.host("op", "aten::sort", 1_000_000, 3_000_000)
    facts.kernel("gemm", 500_000, 100_000)
    with pytest.raises(MissingInputError, match="launch"):
        Signals.of(facts.trace())(cpu_operators.working)
