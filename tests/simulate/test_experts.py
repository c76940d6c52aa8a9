"""Experts, gradients that are reduced in two levels, and single slow links."""

from __future__ import annotations

from dataclasses import replace

import pytest

from series import WHOLE
from stepscope.analyses.communication.called import calls_of
from stepscope.analyses.communication.collective_transfers import matching
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import UserError
from stepscope.rules.engine import diagnose
from stepscope.simulate import SimJob, simulate
from stepscope.simulate.program.experts import tokens_of
from stepscope.simulate.program.instructions import Collect
from stepscope.simulate.program.step import compile_step

JOB = SimJob(
    ranks=4,
    layers=2,
    hidden=1024,
    sequence=512,
    heads=8,
    steps=3,
    python_ns=300,
    op_ns=200,
    launch_ns=1_000,
    noise=0.01,
)


def test_no_token_is_lost():
    job = replace(JOB, experts=True, busy_rank=2, busy_factor=1.75)
    assert [tokens_of(job, rank, 1200) for rank in range(4)] == [900, 900, 2100, 900]


@pytest.mark.series
@pytest.mark.skipif(not WHOLE, reason="a diagnosis of four ranks; `make series` runs it")
def test_ranks_with_more_tokens_are_named_though_their_exchanges_have_other_sizes(tmp_path):
    simulate(replace(JOB, experts=True, busy_rank=1), tmp_path / "job")
    with open_trace(tmp_path / "job", Options(cache=False)) as trace:
        one = trace.rank(0)
        calls = one.once(calls_of)
        exchanges = calls["collective"] == "all_to_all"
        assert exchanges.sum() == 3 * 2 * 4  # steps, layers, there and back in both directions
        assert set(one.job.once(matching).of(calls)[1].tolist()) == {4}
        first = diagnose(trace).shown[0]
    assert (first.code, first.evidence.ranks[0]) == ("CLU004", 1)


def test_gradients_are_reduced_among_neighbours_and_then_between_them():
    found = [
        i.kernel.collective.ranks for i in compile_step(replace(JOB, inner_ranks=2), 512, 3).body if type(i) is Collect
    ]
    assert found == [(2, 3), (1, 3)] * (len(found) // 2)


def test_a_slow_link_slows_what_goes_over_it_alone():
    def taken(job: SimJob, rank: int) -> list[int]:
        return [i.kernel.duration_ns for i in compile_step(job, 512, rank).body if type(i) is Collect]

    job = replace(JOB, inner_ranks=2, comm_latency_ns=0)
    slow = replace(job, slow_link_rank=0, slow_link_peer=1, slow_link_factor=3.0)
    assert taken(slow, 2) == taken(job, 2)
    before, after = taken(job, 0), taken(slow, 0)
    assert after[1::2] == before[1::2]
    assert after[::2] == pytest.approx([3 * ns for ns in before[::2]], abs=3)


@pytest.mark.parametrize(
    "changes",
    [{"experts": True, "ranks": 1}, {"experts": True, "stages": 2}, {"experts": True, "busy_factor": 9.0},
     {"experts": True, "graph": True}, {"inner_ranks": 3}, {"inner_ranks": 2, "parallel": "fsdp"}],
)  # fmt: skip
def test_what_makes_no_job_is_refused(changes, tmp_path):
    with pytest.raises(UserError):
        simulate(replace(JOB, **changes), tmp_path / "job")


def test_formats_with_one_group_refuse_more(tmp_path):
    with pytest.raises(UserError, match="one group"):
        simulate(replace(JOB, experts=True), tmp_path / "job", "nsight")
