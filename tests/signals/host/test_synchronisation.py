from __future__ import annotations

from typing import Any

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.host import synchronisation as sync
from support import Facts


def signals(facts: Facts) -> Signals:
    return Signals.of(facts.trace())


def busy_step() -> Facts:
    facts = Facts()
    facts.step(1, 0, 1_000_000)
    facts.kernel("k", 100, 500_000, launch=(50, 10))
    return facts


def kinds(facts: Facts) -> list[str]:
    return [sync.KINDS[kind] for kind in signals(facts)(sync.calls).kind]


def copy(facts: Facts, at: int, direction: str, bytes_: int, kind: str = "pageable") -> None:
    correlation = facts.correlation()
    facts.host("launch", "cudaMemcpyAsync", at, 10, correlation=correlation)
    event = facts.kernel("Memcpy", at + 20, 10, launch=correlation, kind="copy")
    ends = {"HtoD": (kind, "device"), "DtoH": ("device", kind)}[direction]
    facts.row("copies", event=event, direction=direction, bytes=bytes_, src_kind=ends[0], dst_kind=ends[1])


def test_before_the_first_launch_the_host_waits_for_what_is_not_recorded() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000_000)
    facts.host("sync", "cudaDeviceSynchronize", 10, 14_000)
    facts.kernel("k", 20_100, 500_000, launch=(20_000, 10))
    facts.host("sync", "cudaDeviceSynchronize", 30_000, 491_000)
    assert signals(facts)(sync.calls).ts.tolist() == [30_000]


class TestWhyTheHostWaits:
    def test_the_operators_around_a_call_tell(self) -> None:
        cases = (
            ((), "cudaDeviceSynchronize", "device"),
            (("aten::addmm",), "cudaDeviceSynchronize", "device"),
            ((), "cudaStreamSynchronize", "stream"),
            ((), "hipEventSynchronize", "event"),
            (("aten::item", "aten::_local_scalar_dense"), "cudaStreamSynchronize", "scalar"),
            (("aten::index", "aten::nonzero"), "cudaStreamSynchronize", "result"),
            (("aten::to", "aten::_to_copy", "aten::copy_"), "aclrtSynchronizeStream", "copy"),
            (("aten::conv2d", "aten::cudnn_convolution"), "cudaEventSynchronize", "library"),
            (("aten::empty",), "cudaStreamSynchronize", "library"),
            (("torchvision::nms",), "cudaStreamSynchronize", "library"),
        )
        facts = busy_step()
        for place, (operators, call, _) in enumerate(cases):
            at = 1000 + 10_000 * place
            for depth, name in enumerate(operators):
                facts.host("op", name, at + depth, 5000 - 2 * depth)
            facts.host("sync", call, at + 1000, 3000)
        assert kinds(facts) == [kind for *_, kind in cases]

    # A number has up to 16 bytes.
    @pytest.mark.parametrize(
        ("direction", "bytes_", "kind"),
        [("DtoH", 0, "scalar"), ("DtoH", 16, "scalar"), ("DtoH", 17, "copy"), ("HtoD", 8, "copy")],
    )
    def test_without_operators_the_copy_just_before_tells(self, direction: str, bytes_: int, kind: str) -> None:
        facts = busy_step()
        copy(facts, 1000, direction, bytes_)
        facts.host("sync", "cudaStreamSynchronize", 1020, 3000)
        assert kinds(facts) == [kind]

    def test_operators_of_others_tell_by_what_they_bring_to_the_host(self) -> None:
        facts = busy_step()
        for at, bytes_ in ((1000, 4096), (11_000, 4097)):
            facts.host("op", "torchvision::nms", at - 100, 5000)
            copy(facts, at, "DtoH", bytes_)
            facts.host("sync", "cudaStreamSynchronize", at + 20, 3000)
        assert kinds(facts) == ["result", "library"]

    @pytest.mark.parametrize(("after", "kind"), [(0, "scalar"), (50_000, "scalar"), (50_001, "stream")])
    def test_a_copy_whose_call_returned_long_before_tells_nothing(self, after: int, kind: str) -> None:
        facts = busy_step()
        copy(facts, 1000, "DtoH", 4)
        facts.host("sync", "cudaStreamSynchronize", 1010 + after, 3000)
        assert kinds(facts) == [kind]

    def test_only_what_its_own_thread_launched_last_tells(self) -> None:
        facts = busy_step()
        copy(facts, 1000, "DtoH", 4)
        facts.kernel("k", 600_000, 10, launch=(1_500, 10))
        facts.host("sync", "cudaStreamSynchronize", 2_000, 3000)
        copy(facts, 10_000, "DtoH", 4)
        facts.host("sync", "cudaStreamSynchronize", 10_020, 3000, thread="2")
        assert kinds(facts) == ["stream", "stream"]

    def test_a_large_copy_from_pageable_memory_has_to_wait(self) -> None:
        facts = busy_step()
        copy(facts, 1000, "HtoD", 65_536)
        facts.host("sync", "cudaStreamSynchronize", 1020, 300)
        copy(facts, 2000, "HtoD", 65_537)
        facts.host("sync", "cudaStreamSynchronize", 2020, 300)
        copy(facts, 3000, "HtoD", 65_537, "pinned")
        facts.host("sync", "cudaStreamSynchronize", 3020, 300)
        found = signals(facts)
        assert found(sync.calls).staged.tolist() == [False, True, False]
        assert found(sync.copy_waits) == 2

    def test_a_blocking_copy_of_a_number_is_a_read(self) -> None:
        facts = busy_step()
        correlation = facts.correlation()
        facts.host("launch", "cudaMemcpy", 1000, 500, correlation=correlation)
        event = facts.kernel("Memcpy", 1100, 10, launch=correlation, kind="copy")
        facts.row("copies", event=event, direction="DtoH", bytes=8)
        assert signals(facts)(sync.scalar_reads) == 1

    def test_a_read_is_a_copy_and_a_wait_in_one_operator_and_counts_once(self) -> None:
        facts = busy_step()
        for at in (1_000, 11_000):
            facts.host("op", "aten::item", at, 9_000)
            facts.host("op", "aten::_local_scalar_dense", at + 10, 8_900)
            correlation = facts.correlation()
            facts.host("launch", "cudaMemcpyAsync", at + 100, 8_000, correlation=correlation)
            event = facts.kernel("Memcpy", at + 7_000, 500, launch=correlation, kind="copy")
            facts.row("copies", event=event, direction="DtoH", bytes=4, src_kind="device", dst_kind="pageable")
            facts.host("sync", "cudaStreamSynchronize", at + 8_200, 500)
        found = signals(facts)
        assert found(sync.calls).of(sync.SCALAR).events.size == 4
        assert found(sync.scalar_reads) == 2

    def test_without_operators_a_copy_and_the_wait_right_after_it_are_one_read(self) -> None:
        facts = busy_step()
        for at in (1_000, 11_000):
            correlation = facts.correlation()
            facts.host("launch", "cudaMemcpyAsync", at, 8_000, correlation=correlation)
            event = facts.kernel("Memcpy", at + 7_000, 500, launch=correlation, kind="copy")
            facts.row("copies", event=event, direction="DtoH", bytes=4, src_kind="device", dst_kind="pageable")
            facts.host("sync", "cudaStreamSynchronize", at + 8_200, 500)
        found = signals(facts)
        assert found(sync.calls).of(sync.SCALAR).events.size == 4
        assert found(sync.scalar_reads) == 2


class TestWhichCallsCount:
    def test_calls_within_calls_and_queries_and_calls_outside_steps_do_not(self) -> None:
        facts = busy_step()
        outer = facts.host("sync", "cudaDeviceSynchronize", 1000, 500)
        facts.host("sync", "cuCtxSynchronize", 1100, 300)
        facts.host("sync", "cudaEventQuery", 2000, 300)
        facts.host("sync", "cudaDeviceSynchronize", 1_200_000, 500)
        assert signals(facts)(sync.calls).events.tolist() == [outer]

    def test_what_the_profiler_does_does_not(self) -> None:
        facts = busy_step()
        facts.host("overhead", "flush", 900, 1000)
        facts.host("sync", "cuCtxSynchronize", 1000, 500)
        assert signals(facts)(sync.calls).events.size == 0

    def test_rates_are_per_step_and_per_launch(self) -> None:
        facts = busy_step()
        facts.step(2, 1_000_000, 1_000_000)
        facts.kernel("k", 1_000_100, 500_000, launch=(1_000_050, 10))
        for at in (1000, 2000, 3000):
            facts.host("sync", "cudaDeviceSynchronize", at, 500)
        facts.host("sync", "cudaStreamSynchronize", 4000, 500)
        found = signals(facts)
        assert (found(sync.device_waits), found(sync.stream_waits)) == (1.5, 0.5)

    def test_waits_per_launch_are_those_that_something_was_launched_for(self) -> None:
        facts = Facts()
        facts.step(1, 0, 1_000_000)
        for at in range(0, 100_000, 10_000):
            facts.kernel("k", at + 500, 1_000, launch=(at, 100))
            facts.host("sync", "cudaStreamSynchronize", at + 300, 1_500)
            facts.host("sync", "cudaDeviceSynchronize", at + 2_000, 10)
        assert signals(facts)(sync.per_launch) == 1.0

    @pytest.mark.parametrize(("behind", "rate"), [("kernel", 1.0), ("copy", 0.0), ("graph", 0.0)])
    def test_waits_for_results_and_for_graphs_are_not_behind_every_kernel(self, behind: str, rate: float) -> None:
        facts = Facts()
        facts.step(1, 0, 1_000_000)
        for at in range(0, 100_000, 10_000):
            facts.kernel("k", at + 500, 1_000, launch=(at, 100))
            if behind == "copy":
                facts.kernel("Memcpy DtoH", at + 1_500, 100, launch=(at + 200, 50), kind="copy")
            if behind == "graph":
                graph = facts.correlation()
                facts.host("launch", "cudaGraphLaunch", at + 200, 50, correlation=graph)
                for i in range(3):
                    facts.kernel("inner", at + 1_500 + 10 * i, 9, launch=graph)
            facts.host("sync", "cudaStreamSynchronize", at + 300, 1_500)
        assert signals(facts)(sync.per_launch) == rate

    def test_without_device_or_runtime_there_is_nothing_to_say(self) -> None:
        facts = Facts()
        facts.step(1, 0, 100)
        facts.host("op", "aten::add", 10, 20)
        with pytest.raises(MissingInputError, match="no device activity"):
            signals(facts)(sync.calls)


class TestLaunchesThatBlock:
    @pytest.mark.parametrize(
        ("kernel_ns", "returned_after", "share"),
        [(20_000, 2_000, 1.0), (20_000, -1, 0.0), (20_000, 50_001, 0.0), (19_999, 2_000, 0.0)],
    )
    def test_they_return_right_after_their_kernel(self, kernel_ns: int, returned_after: int, share: float) -> None:
        facts = Facts()
        facts.step(1, 0, 1_000_000)
        facts.kernel("k", 1000, kernel_ns, launch=(500, 500 + kernel_ns + returned_after))
        assert signals(facts)(sync.blocking_launches) == share


@pytest.mark.parametrize(
    ("call", "operator", "scope"),
    [
        ("cudaDeviceSynchronize", "aten::add", "device"),
        ("cudaStreamSynchronize", "aten::_local_scalar_dense", "scalar"),
        ("cudaMemcpyAsync", None, "copy"),
        ("cudaStreamSynchronize", "aten::copy_", "copy"),
        ("cudaStreamSynchronize", "aten::nonzero", "result"),
        ("cudaEventSynchronize", None, "event"),
    ],
)
def test_a_place_says_why_the_program_waits_there(call: str, operator: str | None, scope: str) -> None:
    assert sync.WaitPlace(call, operator, None, None, 1, 10).scope == scope


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"line": "a.py(3): f", "annotation": "loss", "operator": "aten::item"}, "a.py(3): f"),
        ({"line": None, "annotation": "loss", "operator": "aten::item"}, "loss"),
        ({"line": None, "annotation": None, "operator": "aten::item"}, "aten::item"),
        ({"line": None, "annotation": None, "operator": None}, "cudaStreamSynchronize"),
    ],
)
def test_a_place_is_named_as_closely_as_is_known(known: dict[str, Any], text: str) -> None:
    place = sync.WaitPlace("cudaStreamSynchronize", count=1, total_ns=10, **known)
    assert place.text == text
    assert place.row["where"] == {"name": "cudaStreamSynchronize", "operator": known["operator"]}


def test_places_are_the_rows_of_the_table() -> None:
    facts = busy_step()
    facts.host("sync", "cudaDeviceSynchronize", 1000, 500)
    facts.host("sync", "cudaDeviceSynchronize", 2000, 700)
    (place,) = signals(facts)(sync.places)
    assert (place.call, place.count, place.total_ns) == ("cudaDeviceSynchronize", 2, 1200)
