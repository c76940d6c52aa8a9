from __future__ import annotations

import weakref

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.communication import comm_tasks, communication, contention, links, messages, process_groups
from stepscope.signals.shared import host_collectives
from stepscope.store.opening import open_stores
from support import Facts

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn"
MIB = 1 << 20


def collective(facts: Facts, ts: int, dur: int, *, size: int = 25 * MIB, kind: str = "all_reduce", seq: int = 0) -> int:
    event = facts.kernel(NCCL, ts, dur, launch=(ts - 5, 2), stream="20", kind="comm")
    facts.row("collectives", event=event, group="0", seq=seq, collective=kind, bytes=size, world_size=2)
    return event


def two_ranks(first: Facts, second: Facts, hosts: tuple[str, str] | tuple[()] = ()) -> Trace:
    named = [{"host": host} for host in hosts] or [{}, {}]
    alone = [facts.trace(rank=rank, world_size=2, **named[rank]) for rank, facts in enumerate((first, second))]
    whole = open_stores({0: first.staging.folder, 1: second.staging.folder})
    # Their folders last as long as they do.
    weakref.finalize(whole, alone.clear)
    return whole


def test_exposed_time_is_that_behind_which_nothing_is_computed() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    facts.kernel(GEMM, 100, 200, launch=(50, 5))
    collective(facts, 200, 300)
    s = Signals.of(facts.trace(rank=0))
    found = s(communication.calls)
    assert found.exposed.tolist() == [200]
    assert found.transfer.tolist() == [300]
    assert not found.known
    assert s(communication.exposed_share) == s(communication.transfer_share) == 0.2


def test_the_devices_of_one_process_take_the_same_time() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    for device in (0, 1):
        event = facts.kernel(NCCL, 100, 800, launch=(50 + device, 1), stream=f"2{device}", device=device, kind="comm")
        facts.row("collectives", event=event, group="0", seq=0, collective="all_reduce", bytes=MIB, world_size=2)
    s = Signals.of(facts.trace(rank=0))
    assert s(communication.calls).event.size == 1
    assert s(communication.transfer_share) == 0.8


def test_collectives_side_by_side_are_exposed_once() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    for stream in ("20", "21"):
        event = facts.kernel(NCCL, 100, 800, launch=(50 + int(stream), 1), stream=stream, kind="comm")
        facts.row("collectives", event=event, group=stream, seq=0, collective="all_reduce", bytes=MIB, world_size=2)
    assert Signals.of(facts.trace(rank=0))(communication.transfer_share) == 0.8


@pytest.mark.parametrize(
    ("group", "size", "transfer"),
    [("default", None, [10, 300]), ("default", MIB, [10, 10]), ("pp", None, [10, 10])],
)
def test_sends_alike_are_those_of_a_known_group_or_size(group: str, size: int | None, transfer: list[int]) -> None:
    """The same kernel exchanges between all ranks: another call says nothing of what that takes."""
    facts = Facts()
    facts.step(1, 0, 1_000)
    for ts, dur in ((100, 10), (200, 300)):
        event = facts.kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", ts, dur, stream="20", kind="comm")
        facts.row("collectives", event=event, group=group, collective="send_recv", bytes=size)
    assert Signals.of(facts.trace(rank=0))(communication.calls).transfer.tolist() == transfer


def test_the_shortest_participant_tells_transfer_from_waiting() -> None:
    parts = []
    for early in (600, 100):
        facts = Facts()
        facts.step(1, 0, 1_000)
        facts.kernel(GEMM, 10, 20, launch=(5, 2))
        collective(facts, 700 - early, 100 + early, seq=7)
        parts.append(facts)
    whole = two_ranks(*parts)
    late, early = Signals.of(whole.rank(1)), Signals.of(whole.rank(0))
    for s in (late, early):
        assert s(communication.calls).transfer.tolist() == [200]
        assert s(communication.calls).known
    assert early(communication.exposed_share) == 0.7
    assert early(communication.transfer_share) == 0.2


def test_with_a_rank_missing_the_transfer_is_only_a_bound() -> None:
    parts = []
    for _ in range(2):
        facts = Facts()
        facts.step(1, 0, 1_000)
        event = facts.kernel(NCCL, 200, 300, launch=(100, 5), kind="comm")
        facts.row("collectives", event=event, group="0", seq=0, collective="all_reduce", bytes=8, world_size=4)
        parts.append(facts)
    assert not Signals.of(two_ranks(*parts).rank(0))(communication.calls).known


def test_recorded_transfers_tell_it_on_one_rank() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    event = collective(facts, 100, 800)
    for ts, dur, link in ((100, 50, "ON_CHIP"), (700, 100, "HCCS"), (750, 100, "HCCS")):
        part = facts.kernel("Memcpy", ts, dur, stream="plane", kind="copy")
        facts.row("comm_tasks", event=part, collective=event, kind="copy", transport="SDMA", link=link, bytes=700)
    s = Signals.of(facts.trace(rank=0))
    assert s(communication.calls).transfer.tolist() == [150]
    assert s(communication.calls).known
    assert s(comm_tasks.unaligned).event.size == 2
    assert s(comm_tasks.unaligned).rate == 1_400 * 1e9 / 200
    assert s(comm_tasks.beside_matmul).tolist() == [False, False]


def test_steps_without_collectives_are_no_answer() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    facts.kernel(GEMM, 100, 200, launch=(50, 5))
    with pytest.raises(MissingInputError):
        Signals.of(facts.trace())(communication.calls)


def test_the_thread_of_the_backward_pass_is_recognised() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    facts.host("op", "autograd::engine::evaluate_function: AddmmBackward0", 50, 500, thread="2")
    for ts, thread in ((100, "2"), (300, "1")):
        event = facts.kernel(NCCL, ts, 50, launch=(ts - 5, 2), thread=thread, kind="comm")
        facts.row("collectives", event=event, group="0", collective="all_reduce", bytes=8)
    assert Signals.of(facts.trace())(communication.in_backward).tolist() == [True, False]


class TestLinks:
    def test_bandwidth_counts_what_each_link_carries(self) -> None:
        facts = Facts()
        facts.step(1, 0, 10_000_000)
        collective(facts, 1_000, 1_250_000, size=20 * 10**6)
        collective(facts, 2_000_000, 250_000, size=8)
        collective(facts, 3_000_000, 300_000, size=8)
        s = Signals.of(facts.trace(rank=0, world_size=2))
        assert s(links.large).calls.event.size == 1
        assert s(links.large).fixed_ns == 250_000
        assert s(links.large).smaller is not None
        assert s(links.large).smaller.bytes.tolist() == [8, 8]
        assert s(links.bandwidth) == pytest.approx(20e9)
        assert s(links.one_host) is None
        assert s(links.link).usual == 20e9

    def test_of_one_size_nobody_knows_what_small_ones_take_besides(self) -> None:
        facts = Facts()
        facts.step(1, 0, 10_000_000)
        collective(facts, 1_000, 1_000_000, size=8 << 20)
        collective(facts, 3_000_000, 400_000, size=6 << 20)
        s = Signals.of(facts.trace(rank=0, world_size=2))
        assert s(links.large).calls.event.size == 2
        assert s(links.large).smaller is None

    @pytest.mark.parametrize(("devices", "same"), [((0, 1), True), ((0, 0), None)])
    def test_ranks_on_different_devices_share_a_host(self, devices: tuple[int, int], same: bool | None) -> None:
        parts = []
        for device in devices:
            facts = Facts()
            facts.step(1, 0, 1_000)
            facts.kernel(GEMM, 100, 200, launch=(50, 5), device=device)
            facts.row("devices", device=device, name="NVIDIA A100-SXM4-80GB", used=True)
            parts.append(facts)
        s = Signals.of(two_ranks(*parts).rank(0))
        assert s(links.one_host) is same
        assert s(links.link).usual == (210e9 if same else 20e9)

    def test_recorded_hosts_decide(self) -> None:
        facts = Facts(), Facts()
        for one in facts:
            one.step(1, 0, 1_000)
        assert Signals.of(two_ranks(*facts, hosts=("a", "b")).rank(0))(links.one_host) is False
        again = Facts(), Facts()
        for one in again:
            one.step(1, 0, 1_000)
        assert Signals.of(two_ranks(*again, hosts=("a", "a")).rank(0))(links.one_host) is True

    def test_without_sizes_there_is_no_bandwidth(self) -> None:
        facts = Facts()
        facts.step(1, 0, 1_000)
        event = facts.kernel(NCCL, 100, 50, launch=(90, 2), kind="comm")
        facts.row("collectives", event=event, group="0", collective="all_reduce")
        with pytest.raises(MissingInputError):
            Signals.of(facts.trace())(links.bandwidth)


def test_small_reductions_of_the_backward_pass_are_gradients_others_are_not() -> None:
    facts = Facts()
    facts.step(1, 0, 10_000_000)
    facts.host("op", "autograd::engine::evaluate_function: MmBackward0", 0, 5_000_000, thread="2")
    for number in range(6):
        ts, thread = 100_000 * (number + 1), "2" if number < 4 else "1"
        op = facts.host("op", "c10d::allreduce_", ts - 10, 9, thread=thread)
        event = facts.kernel(NCCL, ts, 20_000, launch=(ts - 8, 2), thread=thread, kind="comm")
        facts.row("collectives", event=event, group="0", collective="all_reduce", bytes=10_000, world_size=2)
        assert op >= 0
    s = Signals.of(facts.trace())
    gradients, others = s(messages.gradients), s(messages.others)
    assert (gradients.per_step, others.per_step) == (4.0, 2.0)
    assert gradients.ops.size == 4
    assert gradients.count_factor == 0.25
    # One message: a latency of 20 µs, and 40 kB over a link of 20 GB/s, of 80 µs.
    assert gradients.time_factor == pytest.approx((20_000 + 2_000) / 80_000)


def test_kernels_beside_collectives_are_held_against_equal_ones_without() -> None:
    facts = Facts()
    facts.step(1, 0, 100_000)
    for number in range(8):
        ts, beside = 10_000 * (number + 1), number % 2 == 1
        op = facts.host("op", "aten::mm", ts - 60, 50)
        facts.row("op_inputs", event=op, shapes="[[64,64],[64,64]]")
        facts.kernel(GEMM, ts, 1_300 if beside else 1_000, launch=(ts - 50, 5), grid=[8, 8, 1])
        if beside:
            collective(facts, ts, 1_300)
    found = Signals.of(facts.trace())(contention.crowded)
    assert (found.event.size, found.alone.tolist()) == (4, [1_000] * 4)
    assert found.slowdown == pytest.approx(0.3)


def test_kernels_that_are_no_gemms_are_not_held_against_each_other() -> None:
    facts = Facts()
    facts.step(1, 0, 100_000)
    for number in range(8):
        ts, beside = 10_000 * (number + 1), number % 2 == 1
        for name, shift, kernel in (("mm", 0, GEMM), ("add", 2_000, "vectorized_elementwise_kernel")):
            op = facts.host("op", f"aten::{name}", ts + shift - 60, 50)
            facts.row("op_inputs", event=op, shapes="[[64,64],[64,64]]")
            facts.kernel(kernel, ts + shift, 1_300 if beside else 1_000, launch=(ts + shift - 50, 5), grid=[8, 8, 1])
        if beside:
            collective(facts, ts, 3_300)
    assert Signals.of(facts.trace())(contention.crowded).event.size == 4


def test_collectives_that_carry_nothing_are_not_small_messages() -> None:
    facts = Facts()
    facts.step(1, 0, 100_000)
    collective(facts, 1_000, 500, size=0)
    collective(facts, 2_000, 500, size=0)
    with pytest.raises(MissingInputError, match="sizes of collectives"):
        Signals.of(facts.trace(world_size=2))(messages.others)


def test_without_shapes_kernels_can_not_be_compared() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    facts.kernel(GEMM, 100, 200, launch=(50, 5))
    with pytest.raises(MissingInputError):
        Signals.of(facts.trace())(contention.crowded)


def test_groups_with_collectives_and_those_that_the_host_carries_out() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    event = facts.host("annotation", "gloo:all_reduce", 100, 50)
    facts.row("collectives", event=event, group="0", collective="all_reduce")
    facts.row("groups", group="0", backend="cpu:gloo,cuda:gloo", size=2, ranks=[1, 0])
    facts.row("groups", group="1", backend="nccl", size=2, ranks=[0, 1])
    s = Signals.of(facts.trace())
    assert s(process_groups.groups) == (process_groups.ProcessGroup("0", "cpu:gloo,cuda:gloo", (0, 1), 1),)
    assert (s(host_collectives.on_host).dur.tolist(), s(host_collectives.on_host).step.tolist()) == ([50], [1])


def test_npus_know_their_peers_from_recorded_transfers() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    event = facts.kernel("hcom_allReduce__1_0_1", 100, 800, launch=(90, 5), kind="comm")
    facts.row("collectives", event=event, group="0", collective="all_reduce", bytes=25 * MIB)
    for peer in (1, 2, 3):
        part = facts.kernel("Memcpy", 700, 100, stream=f"plane {peer}", kind="copy")
        facts.row("comm_tasks", event=part, collective=event, kind="copy", link="HCCS", bytes=700, src=0, dst=peer)
    s = Signals.of(facts.trace())
    assert s(communication.calls).world.tolist() == [4]
    assert s(links.link) == links.Link("3 HCCS links", 54e9, 27e9)
