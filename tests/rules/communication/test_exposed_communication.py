from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from comm_support import MIB, some_calls
from readers.conformance import open_fresh
from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Kind, Program
from stepscope.model.trace import Trace
from stepscope.signals.communication import communication, pipeline, process_groups
from stepscope.signals.communication.communication import CollectiveCalls
from stepscope.signals.recording.accounting import Account, account
from stepscope.signals.recording.enough import Verdict, verdict
from stepscope.signals.shared.job import step_ns
from stepscope.signals.shared.program import program
from support import Facts


def given(calls: CollectiveCalls, share: float) -> dict[object, object]:
    return {
        communication.calls: calls,
        communication.transfer_share: share,
        communication.exposed_share: share,
    }


def test_exposed_transfer_is_found_and_overlapping_it_is_what_is_priced() -> None:
    (draft,) = drafts("COM001", given(some_calls(6, steps=2), 0.1))
    assert {"10.0 %", "3.00 µs"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.overlapped.tolist() == [0, 1, 2, 3, 4, 5]
    assert draft.most_ns == 3_000  # the price is no higher than the sentence
    assert draft.confidence == 0.9
    assert "DistributedDataParallel" in draft.actions[0].after


def test_gathers_are_prefetched_and_exchanges_are_split() -> None:
    gathers = some_calls(4, name=["all_gather", "all_gather", "reduce_scatter", "reduce_scatter"])
    unseen, seen, *_ = drafts("COM001", given(gathers, 0.1))[0].actions
    assert "forward_prefetch" in seen.after
    assert "host not recorded" in unseen.needs
    exchanges = some_calls(4, name="all_to_all")
    assert "async_op" in drafts("COM001", given(exchanges, 0.1))[0].actions[0].after


def test_collectives_that_mostly_waited_are_not_overlapped() -> None:
    calls = some_calls(3, dur=[1_000, 9_000, 1_000], exposed=[1_000, 9_000, 1_000])
    (draft,) = drafts("COM001", given(calls, 0.1))
    assert draft.change is not None
    assert draft.change.overlapped.tolist() == [0, 2]


def test_on_one_rank_alone_it_says_that_waiting_can_not_be_told_apart() -> None:
    (draft,) = drafts("COM001", given(some_calls(3, told=False), 0.1))
    assert draft.confidence == 0.6


def test_wording_of_one_rank_alone() -> None:
    (draft,) = drafts("COM001", given(some_calls(3, told=False), 0.1))
    assert "can't distinguish" in draft.summary


def test_just_below_the_threshold_nothing_is_found() -> None:
    assert drafts("COM001", given(some_calls(3), 0.0299)) == []
    assert len(drafts("COM001", given(some_calls(3), 0.03))) == 1


def test_without_collectives_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM001", {})


def test_remedies_are_those_of_the_collective_and_of_the_framework() -> None:
    """Gradient buckets are no remedy for broadcasts, nor for a framework that has its own."""

    def first(kind: str, **more: bool) -> str:
        given = {
            communication.calls: some_calls(4, name=kind), communication.transfer_share: 0.5,
            communication.exposed_share: 0.5, process_groups.megatron: more.get("megatron", False),
        }  # fmt: skip
        (draft,) = drafts("COM001", given)
        return draft.actions[0].text + draft.actions[0].after

    assert "DistributedDataParallel" in first("all_reduce")
    assert "--overlap-grad-reduce" in first("all_reduce", megatron=True)
    assert "asynchronously" in first("broadcast")
    assert "DistributedDataParallel" not in first("send_recv")


@pytest.mark.parametrize(("groups", "divided"), [(["tp"] * 4, True), (["tp", "tp", "dp", "dp"], False), ("dp", False)])
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather"])
def test_what_divided_layers_exchange_is_no_reduction_of_gradients(
    kind: str, groups: str | list[str], divided: bool
) -> None:
    calls = given(some_calls(4, name=kind, group=groups), 0.3)
    told = {**calls, process_groups.tensor_groups: frozenset({"tp"}), process_groups.megatron: True}
    (draft,) = drafts("COM001", told)
    assert ("--overlap-grad-reduce" in draft.actions[0].after) != divided
    assert ("--use-ascend-mc2" in draft.actions[0].after) == divided
    assert ((draft.taken_ns, draft.change) == (4_000, None)) == divided


def test_a_group_of_unknown_purpose_is_none_of_divided_layers() -> None:
    (draft,) = drafts("COM001", {**given(some_calls(4), 0.3), process_groups.megatron: True})
    assert "--overlap-grad-reduce" in draft.actions[0].after


@pytest.mark.parametrize(
    ("dur", "size", "divided"),
    [([900, 100], 26 * MIB, True), ([900, 100], -1, True), ([900, 100], 25 * MIB, False), ([899, 101], -1, False)],
)
def test_one_reduction_of_everything_is_to_be_divided(dur: list[int], size: int, divided: bool) -> None:
    calls = given(some_calls(2, dur=dur, exposed=dur, transfer=dur, bytes=size), 0.3)
    (draft,) = drafts("COM001", {**calls, communication.link_share: 0.6})
    assert draft.instead is not None
    assert ("bucket_cap_mb" in draft.instead.actions[0].after) == divided
    # Where next to no compute is left, parts of it can't hide either.
    (draft,) = drafts("COM001", {**calls, communication.link_share: 0.9})
    assert "bucket_cap_mb" not in draft.actions[0].after


@pytest.mark.parametrize(
    ("dur", "divided"), [([900], True), ([450, 450, 100], True), ([440, 440, 120], False), ([300, 300, 300], False)]
)
def test_parameters_gathered_at_once_for_each_pass_are_to_be_gathered_by_block(dur: list[int], divided: bool) -> None:
    calls = given(some_calls(len(dur), name="all_gather", dur=dur, exposed=dur, transfer=dur, bytes=-1), 0.3)
    (draft,) = drafts("COM001", {**calls, communication.link_share: 0.6})
    assert draft.instead is not None
    assert any("fully_shard(block)" in action.after for action in draft.instead.actions) == divided


def test_sends_are_no_reduction_that_could_be_divided() -> None:
    (draft,) = drafts("COM001", {**given(some_calls(1, name="send_recv"), 0.3), communication.link_share: 0.6})
    assert draft.instead is not None
    assert all("bucket_cap_mb" not in action.after for action in draft.instead.actions)


@pytest.mark.parametrize(("group", "first"), [("default", "async_op"), ("pp", "--micro-batch-size 1")])
def test_unnamed_sends_may_be_an_exchange_of_all_ranks(group: str, first: str) -> None:
    (draft,) = drafts("COM001", given(some_calls(4, name="send_recv", group=group, bytes=-1), 0.1))
    assert first in draft.actions[0].after
    assert "--micro-batch-size 1" in draft.actions[-1].after


@pytest.mark.parametrize(("kind", "waits"), [("send_recv", False), ("all_reduce", True)])
def test_what_stages_of_a_pipeline_wait_for_each_other_is_left_to_its_own_rule(kind: str, waits: bool) -> None:
    one = pipeline.StageTimes("g", (0, 1), 0, 4.0, 2.0, 900, 100, True, np.zeros(0, np.int64))
    calls = given(some_calls(6, name=kind), 0.3)
    (draft,) = drafts("COM001", {**calls, communication.link_share: 0.9, pipeline.stage: one})
    assert draft.waiting == waits
    (draft,) = drafts("COM001", {**calls, communication.link_share: 0.9})
    assert draft.waiting


def test_where_the_link_is_never_free_no_order_helps() -> None:
    (draft,) = drafts("COM001", {**given(some_calls(6, steps=2), 0.3), communication.link_share: 0.9})
    assert draft.change is None
    assert {"90.0 %"} <= set(figures(draft.summary))
    (draft,) = drafts("COM001", {**given(some_calls(6, steps=2), 0.3), communication.link_share: 0.79})
    assert draft.change is not None


def test_what_no_order_hides_is_said_of_a_free_link_too_in_case_its_price_comes_to_nothing() -> None:
    (draft,) = drafts("COM001", {**given(some_calls(6, steps=2), 0.3), communication.link_share: 0.6})
    assert draft.instead is not None
    assert draft.instead.change is None
    assert draft.instead.taken_ns == 3_000
    assert "bf16" in draft.instead.actions[0].after
    assert all("bucket by bucket" not in action.text for action in draft.instead.actions)
    (draft,) = drafts("COM001", {**given(some_calls(6, steps=2), 0.09), communication.link_share: 0.6})
    assert draft.instead is None


@pytest.mark.parametrize(("alone", "priced"), [(0.03, False), (0.031, True), (None, True)])
def test_where_next_to_nothing_is_computed_beside_no_collective_no_order_helps(
    alone: float | None, priced: bool
) -> None:
    """A tenth of what is exposed: 0.3 of the step, while collectives run for half of it."""
    told = {} if alone is None else {account: Account(0.5 - alone, 0.3, 0.0, (), True)}
    (draft,) = drafts("COM001", {**given(some_calls(6, steps=2), 0.3), communication.link_share: 0.5, **told})
    assert (draft.change is not None) == priced
    assert draft.taken_ns == (None if priced else 3_000)


@pytest.mark.parametrize(("exposed_us", "told"), [(10_000, True), (9_900, False)])
def test_sums_of_a_profiler_tell_of_exposed_communication_without_a_price(
    tmp_path: Path, exposed_us: int, told: bool
) -> None:
    head = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n"
    rows = [f"{step},{100_000 - exposed_us},{exposed_us},0,{exposed_us},0,0,0\n" for step in range(10, 14)]
    (tmp_path / "step_trace_time.csv").write_text(head + "".join(rows))
    found = findings("COM001", open_fresh(tmp_path / "step_trace_time.csv"))
    assert [(one.cost_ns, one.taken_ns) for one in found] == ([(None, 10_000_000)] if told else [])


@pytest.mark.parametrize(("bubble", "stages"), [(10_000, True), (9_990, False), (0, False)])
def test_receives_of_stages_are_told_from_other_communication_by_sums(
    tmp_path: Path, bubble: int, stages: bool
) -> None:
    head = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n"
    rows = [f"{step},60000,20000,0,20000,20000,90000,{bubble}\n" for step in range(10, 14)]
    (tmp_path / "step_trace_time.csv").write_text(head + "".join(rows))
    (finding,) = findings("COM001", open_fresh(tmp_path / "step_trace_time.csv"))
    assert ("50.0 %" in figures(finding.summary)) == stages
    assert any("--micro-batch-size 1" in action.after for action in finding.actions) == stages


def back_to_back(longer: int) -> Trace:
    """Steps of which three of four reductions begin as soon as their gradient is there, and take `longer` than it."""
    f = Facts()
    us = 1_000
    for step in range(4):
        start = 4_000 * step
        f.step(step, start * us, 400 * us)
        free = start + 50
        for layer in range(4):
            called = start + 20 * layer
            kernel = start + 20 + 200 * layer
            f.kernel("gemm", kernel * us, 199 * us, launch=(called * us, 5 * us), stream="7")
            free = max(kernel + 200, free)
            op = f.kernel(
                "ncclDevKernel_AllReduce", free * us, longer * us, launch=((called + 8) * us, 5 * us), stream="20"
            )
            f.row("collectives", event=op, collective="all_reduce", group="0", world_size=8, bytes=1 << 24)
            free += longer
        f.kernel("adam", (free + 2) * us, 100 * us, launch=((start + 100) * us, 5 * us), stream="7")
    return f.trace()


def test_reductions_that_run_back_to_back_are_shown_without_a_price() -> None:
    found = findings("COM001", back_to_back(700))
    assert [(one.cost_ns, one.shown) for one in found] == [(None, True)]
    assert found[0].taken_ns is not None


def test_wording_of_what_no_order_hides() -> None:
    (draft,) = drafts("COM001", {**given(some_calls(6, steps=2), 0.3), communication.link_share: 0.6})
    assert draft.instead is not None
    assert "no compute is left to hide" in draft.instead.summary


@pytest.mark.parametrize(
    ("kind", "collective", "priced"),
    [
        ("serving", "all_reduce", False),
        ("serving", "all_gather", False),
        ("serving", "all_to_all", True),
        ("inference", "all_reduce", False),
        ("inference", "all_gather", True),  # parameters, which can be gathered ahead
        ("training", "all_reduce", True),
    ],
)
def test_what_the_next_layer_needs_can_not_be_hidden(kind: Kind, collective: str, priced: bool) -> None:
    told = Program(kind, "pytorch", "cuda", "python", libraries=("vLLM",))
    (draft,) = drafts("COM001", {**given(some_calls(3, name=collective), 0.1), program: told})
    assert (draft.change is not None) is priced
    assert (draft.taken_ns is None) is priced


@pytest.mark.parametrize(("kind", "bound"), [("thinned", True), ("", False)])
def test_wording_where_events_were_taken_out_exposed_time_is_an_upper_bound(kind: str, bound: bool) -> None:
    (draft,) = drafts("COM001", {**given(some_calls(3), 0.1), verdict: Verdict(kind, "text")})
    assert ("at most that much" in draft.summary) is bound


@pytest.mark.parametrize("told", [True, False])
def test_what_is_exposed_beyond_the_transfer_is_named_as_the_budget_counts_it(told: bool) -> None:
    signals = {**given(some_calls(3, told=told), 0.1), step_ns: 1_000_000}
    (draft,) = drafts("COM001", {**signals, communication.exposed_share: 0.25})
    assert {"150 µs", "15.0 %"} <= set(figures(draft.summary))
    (alike,) = drafts("COM001", {**signals, communication.exposed_share: 0.109})
    assert "0.9 %" not in figures(alike.summary)
