from __future__ import annotations

import pytest

from stepscope.model.device_table import DEVICES
from stepscope.model.device_table.host_link import host_link
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.copies import copy_kinds
from stepscope.signals.copies.transfers import (
    exposed_ns,
    in_most_steps,
    pinned_factors,
    pinned_rate,
    transfers,
)
from support import Facts
from transfer_support import copies

MIB = 1 << 20


class CopyJob:
    """A job of two steps of 1 ms that copies."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.facts.step(0, 0, 1_000_000)
        self.facts.step(1, 1_000_000, 1_000_000)
        self.facts.kernel("gemm", 500_000, 1_000, launch=(499_000, 100), stream="7")

    def copy(
        self,
        ts: int,
        dur: int,
        size: int,
        kinds: tuple[str | None, str | None],
        *,
        call: str = "cudaMemcpyAsync",
        called: tuple[int, int] | None = None,
        direction: str = "HtoD",
        device: int = 0,
    ) -> int:
        start, long = called or (ts - 2_000, 1_000)
        correlation = self.facts.correlation()
        self.facts.host("launch", call, start, long, correlation=correlation)
        kind = "set" if direction == "set" else "copy"
        event = self.facts.kernel("Memcpy", ts, dur, launch=correlation, kind=kind, stream="9", device=device)
        self.facts.row("copies", event=event, direction=direction, bytes=size, src_kind=kinds[0], dst_kind=kinds[1])
        return event

    def signals(self) -> Signals:
        return Signals.of(self.facts.trace())


def test_copies_know_their_calls_and_the_waits_right_after() -> None:
    job = CopyJob()
    first = job.copy(10_000, 5_000, MIB, ("pageable", "device"), called=(8_000, 1_000))
    wait = job.facts.host("sync", "cudaStreamSynchronize", 9_500, 6_000)
    job.copy(30_000, 1_000, 16, ("device", "pinned"), direction="DtoH", called=(28_000, 1_000))
    job.facts.host("sync", "cudaStreamSynchronize", 90_000, 500)
    found = job.signals()(transfers)
    assert found.wait.tolist() == [wait, -1]
    assert found.waited.tolist() == [6_000, 0]
    assert found.event.tolist()[0] == first
    assert found.step.tolist() == [0, 0]
    one = found.where([True, False])
    assert one.held.tolist() == [first - 1, wait]
    assert one.blocked_ns == 1_000 + 6_000


@pytest.mark.parametrize(("launched", "waited"), [(None, 6_000), (9_100, 0), (9_600, 6_000)])
def test_a_wait_for_a_kernel_behind_the_copy_is_none_for_the_copy(launched: int | None, waited: int) -> None:
    job = CopyJob()
    job.copy(10_000, 5_000, MIB, ("pageable", "device"), called=(8_000, 1_000))
    if launched is not None:
        job.facts.kernel("k", 16_000, 3_000, launch=(launched, 100))
    job.facts.host("sync", "cudaDeviceSynchronize", 9_500, 6_000)
    assert job.signals()(transfers).waited.tolist() == [waited]


def test_a_call_that_returns_before_the_copy_is_done_does_not_hold_the_host_for_all_of_it() -> None:
    found = copies({"called": 100, "returned": 500, "ts": 300, "dur": 100})
    assert found.blocked_ns == 300


def test_without_copies_it_abstains() -> None:
    with pytest.raises(MissingInputError, match="no copies"):
        CopyJob().signals()(transfers)


def test_the_rate_of_pinned_memory_is_the_recorded_one_of_large_copies() -> None:
    job = CopyJob()
    job.copy(10_000, 100_000, 2 * MIB, ("pinned", "device"))
    job.copy(210_000, 100_000, 512, ("pinned", "device"))
    assert job.signals()(pinned_rate) == pytest.approx(2 * MIB * 1e9 / 100_000)


@pytest.mark.parametrize(
    ("device", "rate"), [("Tesla V100-SXM2-32GB", 0.75 * 15.75e9), ("NVIDIA H100 80GB HBM3", 0.75 * 63e9), ("X", 12e9)]
)
def test_else_it_is_what_the_link_lets_expect(device: str, rate: float) -> None:
    job = CopyJob()
    job.copy(10_000, 100_000, 2 * MIB, ("pageable", "device"))
    job.facts.row("devices", device=0, name=device, used=True)
    s = job.signals()
    assert s(pinned_rate) == rate
    assert pinned_factors(s, s(transfers))[0] == pytest.approx(min(1, (2_000 + 2 * MIB * 1e9 / rate) / 100_000))


def test_links_of_devices() -> None:
    known = {device.name: host_link(device) for device in DEVICES}
    assert known["A100-SXM4-80GB"] == 31_500_000_000
    assert known["GH200-96GB"] == 450 * 10**9
    assert known["B200"] == known["MI300X"] == 63 * 10**9
    assert known["Ascend 910B2"] is None


def test_pageable_copies_count_from_a_page_towards_the_device_and_from_64_kib_away() -> None:
    job = CopyJob()
    wanted = [
        job.copy(10_000, 1_000, 4_096, ("pageable", "device")),
        job.copy(20_000, 1_000, 65_536, ("device", "pageable"), direction="DtoH"),
    ]
    job.copy(30_000, 1_000, 4_095, ("pageable", "device"))
    job.copy(40_000, 1_000, 65_535, ("device", "pageable"), direction="DtoH")
    job.copy(50_000, 1_000, MIB, ("pinned", "device"))
    s = job.signals()
    assert s(copy_kinds.pageable).event.tolist() == wanted
    assert in_most_steps(s, s(copy_kinds.pageable))
    assert not in_most_steps(s, s(copy_kinds.pageable).where([False, False]))


def test_synchronous_copies_are_told_by_their_calls() -> None:
    job = CopyJob()
    wanted = job.copy(10_000, 1_000, MIB, ("pinned", "device"), call="cudaMemcpy", called=(9_000, 3_000))
    job.copy(20_000, 1_000, 65_536, ("pinned", "device"), call="cudaMemcpy")
    job.copy(30_000, 1_000, MIB, ("pageable", "device"), call="cudaMemcpy")
    job.copy(40_000, 1_000, MIB, ("pinned", "device"))
    job.copy(50_000, 1_000, MIB, ("device", "device"), call="cudaMemcpy", direction="DtoD")
    s = job.signals()
    assert s(copy_kinds.synchronous).event.tolist() == [wanted]
    assert wanted not in s(copy_kinds.asynchronous).event.tolist()


def test_all_but_the_first_small_copy_of_a_step_can_go() -> None:
    job, outer = CopyJob(), []
    for number, at in enumerate((10_000, 30_000, 1_010_000, 1_030_000)):
        outer.append(job.facts.host("op", "aten::to", at - 5_000, 10_000))
        job.facts.host("op", "aten::copy_", at - 4_000, 8_000)
        job.copy(at, 1_000, 1_024 * (number + 1), ("pinned", "device"))
    found = job.signals()(copy_kinds.packed)
    assert found.per_step == 2
    assert found.gone.bytes.tolist() == [2_048, 4_096]
    assert found.calls.tolist() == [outer[1], outer[3]]
    assert found.host_ns == 2 * 10_000


def test_an_operator_that_does_more_than_copying_stays() -> None:
    job = CopyJob()
    for at in (10_000, 30_000):
        job.facts.host("op", "aten::conv2d", at - 5_000, 10_000)
        job.copy(at, 1_000, 1_024, ("pageable", "device"))
        job.facts.kernel("gemm", at + 2_000, 1_000, launch=(at + 1_000, 500))
    found = job.signals()(copy_kinds.packed)
    assert found.calls.tolist() == found.gone.launch.tolist()


def test_copies_are_exposed_where_their_device_does_nothing_else() -> None:
    job = CopyJob()
    job.copy(499_500, 1_000, MIB, ("pinned", "device"))
    s = job.signals()
    assert exposed_ns(s, s(copy_kinds.asynchronous)) == 500


@pytest.mark.parametrize(("later", "exposed"), [(0, 500), (200, 700), (600, 1_000)])
def test_copies_of_several_devices_at_a_time_count_once(later: int, exposed: int) -> None:
    job = CopyJob()
    for device in (0, 1):
        job.copy(499_500 + device * later, 500, MIB, ("pinned", "device"), device=device)
    s = job.signals()
    assert exposed_ns(s, s(copy_kinds.asynchronous)) == exposed


def test_data_that_come_back_as_they_went() -> None:
    job = CopyJob()
    there = job.copy(10_000, 1_000, MIB, ("device", "pageable"), direction="DtoH")
    back = job.copy(20_000, 1_000, MIB, ("pageable", "device"))
    job.copy(40_000, 1_000, 2 * MIB, ("pageable", "device"))
    assert job.signals()(copy_kinds.round_trips).event.tolist() == [there, back]


def test_without_steps_equal_sizes_tell_nothing() -> None:
    facts = Facts()
    for number, (direction, kinds) in enumerate((("DtoH", ("device", "pageable")), ("HtoD", ("pageable", "device")))):
        at = 10_000 * (number + 1)
        event = facts.kernel(f"Memcpy {direction}", at, 1_000, launch=(at - 500, 2_000), kind="copy")
        facts.row("copies", event=event, direction=direction, bytes=MIB, src_kind=kinds[0], dst_kind=kinds[1])
    assert Signals.of(facts.trace())(copy_kinds.round_trips).event.size == 0


def test_offloading_that_nobody_waits_for_is_no_round_trip() -> None:
    job = CopyJob()
    job.copy(10_000, 1_000, MIB, ("device", "pinned"), direction="DtoH")
    job.copy(20_000, 1_000, MIB, ("pinned", "device"))
    assert job.signals()(copy_kinds.round_trips).event.size == 0


def test_what_is_sent_before_it_has_arrived_is_no_round_trip() -> None:
    job = CopyJob()
    job.copy(10_000, 50_000, MIB, ("device", "pageable"), direction="DtoH")
    job.copy(70_000, 1_000, MIB, ("pageable", "device"), called=(50_000, 1_000))
    assert job.signals()(copy_kinds.round_trips).event.size == 0


def test_sets_that_the_host_waits_for() -> None:
    job = CopyJob()
    wanted = job.copy(10_000, 1_000, MIB, (None, "pinned"), direction="set", called=(9_000, 3_000), call="cudaMemset")
    job.copy(20_000, 1_000, MIB, (None, "device"), direction="set", called=(19_000, 3_000), call="cudaMemset")
    job.copy(30_000, 1_000, MIB, (None, "pinned"), direction="set", call="cudaMemsetAsync")
    assert job.signals()(copy_kinds.memsets).event.tolist() == [wanted]


class TestWhatTheProgramAskedFor:
    def test_what_a_library_copies_inside_an_operator_that_computes_is_not(self) -> None:
        job = CopyJob()
        for number, name in enumerate(("aten::cudnn_convolution", "aten::addmm", "aten::copy_", "custom::gather")):
            start = 100_000 * (number + 1)
            job.facts.host("op", name, start, 10_000)
            job.copy(start + 8_000, 1_000, 112, ("pageable", "device"), called=(start + 1_000, 1_000))
        assert job.signals()(transfers).ts.tolist() == [308_000, 408_000]

    def test_pages_that_migrate_are_not(self) -> None:
        job = CopyJob()
        event = job.facts.kernel("Memcpy HtoD (Unified Memory)", 2_000, 1_000, kind="copy", stream="9")
        job.facts.row("copies", event=event, direction="HtoD", bytes=MIB, src_kind="managed", dst_kind="managed")
        asked = job.copy(9_000, 1_000, MIB, ("managed", "managed"))
        assert job.signals()(transfers).event.tolist() == [asked]


@pytest.mark.parametrize(
    ("pytorch", "stepped", "at", "count"),
    [(True, False, 100, 0), (True, False, 600_000, 1), (False, False, 100, 1), (True, True, 100, 1)],
)
def test_where_no_steps_are_known_what_pytorch_copies_before_its_first_gemm_is_the_model(
    pytorch: bool, stepped: bool, at: int, count: int
) -> None:
    facts = Facts()
    if stepped:
        facts.step(0, 0, 1_000_000)
    if pytorch:
        facts.host("op", "aten::mm", 400_000, 1_000)
    facts.kernel("ampere_sgemm_128x64_tn", 500_000, 1_000, launch=(400_100, 100))
    event = facts.kernel("Memcpy HtoD", at, 1_000, launch=(at - 50, 40), kind="copy")
    facts.row("copies", event=event, direction="HtoD", bytes=MIB, src_kind="pageable", dst_kind="device")
    assert Signals.of(facts.trace(reader="nsight"))(copy_kinds.pageable).event.size == count
